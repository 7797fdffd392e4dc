/** What a response says of the use of a source's limit. */

import type { EpochMs } from '../../model/intervals.ts';
import { costOfWindow } from '../../model/sources.ts';
import type { Profile } from './profile.ts';

/**
 * How long the queue has to pause after a response, beyond its even spacing.
 *
 * A request that costs more than one of candles takes as many places more. If the source counts more than we know,
 * because others use the same address, nothing is sent once the requests under way could pass its limit, until its
 * period ends.
 */
export function pauseForUse(
  profile: Profile,
  { cost, used }: { readonly cost: number; readonly used: number | null },
  { concurrency, nowMs }: { readonly concurrency: number; readonly nowMs: EpochMs },
): number {
  const [limit] = profile.limits(false);
  if (limit === undefined) return 0;
  const usual = costOfWindow(profile.offers);
  const underWay = usual * (concurrency + 1);
  const untilNextMs = limit.periodMs - (nowMs % limit.periodMs);
  if (used !== null && used + underWay > limit.amount) return untilNextMs;
  return cost > usual ? ((cost - usual) * limit.periodMs) / limit.amount : 0;
}
