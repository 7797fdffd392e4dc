/** Empty answers: what one says, another has to say as well. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import type { Lane } from '../planning/windows.ts';
import { timeRange, timestamp } from './database.ts';
import { settleCovered } from './pending.ts';
import type { WindowResult } from './windows.ts';

/** What is to be read of a range that awaits its second answer. */
export const emptyMessage = 'the source answered without points';

/**
 * An empty answer is no verdict until a second one, asked for after `emptyConfirmMs`, agrees. What an earlier
 * empty answer held too is covered now; the rest awaits its own second answer.
 */
export async function recordEmpty(
  client: pg.PoolClient,
  window: {
    readonly seriesId: number;
    readonly lane: Lane;
    readonly nowMs: EpochMs;
    readonly emptyConfirmMs: number;
  },
  closed: Range | null,
  said: { readonly kind: string; readonly message: string } = { kind: 'empty', message: emptyMessage },
): Promise<Pick<WindowResult, 'verdict' | 'covered'>> {
  const { seriesId, nowMs, emptyConfirmMs } = window;
  if (window.lane === 'refresh') {
    await client.query('update tidemark.series set refreshed_at = $2 where id = $1', [
      seriesId,
      timestamp(nowMs),
    ]);
  }
  if (closed === null) return { verdict: 'empty', covered: null };
  const range = timeRange(closed.startMs, closed.endMs);
  const result = await client.query<{ some: boolean; whole: boolean }>(
    `with agreed as (
       select range_agg(range) * tstzmultirange($2::tstzrange) as ranges from tidemark.pending_windows
       where series_id = $1 and verdict = 'empty' and range && $2::tstzrange and first_at <= $3
     ), asked as (
       select tstzmultirange($2::tstzrange) - s.covered as ranges from tidemark.series s where s.id = $1
     ), confirmed as (
       update tidemark.series s
          set covered = s.covered + agreed.ranges,
              -- Where a point may be stored, as that of a candle while it was open, nothing is said to be empty.
              confirmed_empty = s.confirmed_empty + (agreed.ranges - s.covered - s.uncovered_points),
              uncovered_points = s.uncovered_points - agreed.ranges
         from agreed where s.id = $1 and not isempty(agreed.ranges)
       returning 1
     ), held as (
       select coalesce(range_agg(range), '{}') as ranges from tidemark.pending_windows
       where series_id = $1 and verdict = 'empty' and range && $2::tstzrange
     ), waiting as (
       insert into tidemark.pending_windows as p (series_id, range, verdict, kind, message, first_at, retry_at)
       select $1, r, 'empty', $6, $7, $4, $5
       from asked, held, unnest(asked.ranges - held.ranges) r
       on conflict (series_id, range) do update
         set verdict = 'empty', kind = excluded.kind, message = excluded.message, attempts = p.attempts + 1,
             first_at = case when p.verdict = 'empty' then p.first_at else excluded.first_at end,
             retry_at = excluded.retry_at
     )
     select exists (select from confirmed) as some, asked.ranges <@ coalesce(agreed.ranges, '{}') as whole
     from asked left join agreed on true`,
    [
      ...[seriesId, range, timestamp(nowMs - emptyConfirmMs), timestamp(nowMs)],
      ...[timestamp(nowMs + emptyConfirmMs), said.kind, said.message],
    ],
  );
  const confirmed = result.rows[0];
  if (confirmed?.some !== true) return { verdict: 'empty', covered: null };
  await settleCovered(client, [seriesId]);
  return confirmed.whole
    ? { verdict: 'confirmed_empty', covered: closed }
    : { verdict: 'empty', covered: null };
}
