/** Series named by their ids, as the arguments of a command. */

import { TidemarkError } from '../errors.ts';
import { assertSeries } from '../store/series.ts';
import type { Session } from './session.ts';

/** @returns undefined where none is named. @throws TidemarkError BAD_ARGUMENT */
export function seriesIdsOf(words: readonly string[]): number[] | undefined {
  const wrong = words.find((word) => !/^\d{1,9}$/.test(word));
  if (wrong !== undefined)
    throw new TidemarkError('BAD_ARGUMENT', `${JSON.stringify(wrong)} is not a series id`);
  return words.length === 0 ? undefined : [...new Set(words.map(Number))];
}

/** @throws TidemarkError UNKNOWN_SERIES */
export async function refuseUnknown(
  session: Session,
  seriesIds: readonly number[] | undefined,
): Promise<void> {
  if (seriesIds !== undefined) await assertSeries(session.database, seriesIds);
}
