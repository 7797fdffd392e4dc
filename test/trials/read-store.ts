/** Everything that the store has about some series, as the model compares it. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Database } from '../../store/db/database.ts';
import type { Values } from './truth.ts';

export interface StoredSeries {
  readonly covered: Range[];
  readonly confirmedEmpty: Range[];
  readonly uncoveredPoints: Range[];
  readonly pointCount: number;
  readonly earliestMs: EpochMs | null;
  readonly newestMs: EpochMs | null;
  readonly isTracked: boolean;
  readonly trackedFromMs: EpochMs;
  readonly trackedToMs: EpochMs | null;
  readonly requests: number;
  readonly points: Map<EpochMs, Values>;
  /** `time seenAt`: the previous values. */
  readonly revisions: Map<string, Values>;
  readonly pending: ReadonlyArray<{ readonly range: Range; readonly retryAtMs: EpochMs }>;
  readonly quarantined: string[];
}

const ranges = (column: string) =>
  `array(select extract(epoch from lower(r))::float8 * 1000 || ' ' || extract(epoch from upper(r))::float8 * 1000
         from unnest(s.${column}) r)`;
const text = (columns: readonly string[]) => `array[${columns.map((column) => `${column}::text`).join(', ')}]`;
const candleColumns = ['open', 'high', 'low', 'close', 'volume'];

interface Row {
  id: number;
  covered: string[];
  confirmed_empty: string[];
  uncovered_points: string[];
  points: number;
  earliest: EpochMs | null;
  newest: EpochMs | null;
  is_tracked: boolean;
  tracked_from: EpochMs;
  tracked_to: EpochMs | null;
  requests: number;
  pending: string[];
  quarantined: string[];
}

export async function readStore({ pool }: Database, seriesIds: readonly number[]): Promise<Map<number, StoredSeries>> {
  const [series, points, revisions] = await Promise.all([
    pool.query<Row>(
      `select id, ${ranges('covered')} as covered, ${ranges('confirmed_empty')} as confirmed_empty,
              ${ranges('uncovered_points')} as uncovered_points, points, earliest, newest,
              untracked_at is null as is_tracked, lower(tracked) as tracked_from, upper(tracked) as tracked_to,
              (select count(*) from tidemark.fetches f where f.series_id = s.id) as requests,
              array(select extract(epoch from lower(p.range))::float8 * 1000 || ' '
                           || extract(epoch from upper(p.range))::float8 * 1000 || ' '
                           || extract(epoch from p.retry_at)::float8 * 1000
                    from tidemark.pending_windows p where p.series_id = s.id and not p.of_covered) as pending,
              array(select raw from tidemark.quarantine q where q.series_id = s.id order by raw) as quarantined
       from tidemark.series s where id = any ($1)`,
      [seriesIds],
    ),
    pool.query<{ id: number; time: EpochMs; values: string[] }>(
      `select series_id as id, time, ${text(candleColumns)} as values from tidemark.candle_points
       where series_id = any ($1)
       union all
       select series_id, time, ${text(['price_usd'])} from tidemark.asset_history_points where series_id = any ($1)
       order by time`,
      [seriesIds],
    ),
    pool.query<{ id: number; time: EpochMs; seen_at: EpochMs; before: Record<string, string> }>(
      // As text, because a JSON number would lose digits.
      `select series_id as id, time, seen_at, (select jsonb_object_agg(key, value) from jsonb_each_text(before)) as before
       from tidemark.point_revisions where series_id = any ($1)`,
      [seriesIds],
    ),
  ]);
  const found = new Map<number, StoredSeries>();
  for (const row of series.rows) {
    found.set(row.id, {
      covered: row.covered.map(rangeOf),
      confirmedEmpty: row.confirmed_empty.map(rangeOf),
      uncoveredPoints: row.uncovered_points.map(rangeOf),
      pointCount: row.points,
      earliestMs: row.earliest,
      newestMs: row.newest,
      isTracked: row.is_tracked,
      trackedFromMs: row.tracked_from,
      trackedToMs: row.tracked_to,
      requests: row.requests,
      pending: row.pending.map((bounds) => ({ range: rangeOf(bounds), retryAtMs: Number(bounds.split(' ')[2]) })),
      quarantined: row.quarantined,
      points: new Map(),
      revisions: new Map(),
    });
  }
  for (const { id, time, values } of points.rows) found.get(id)?.points.set(time, values);
  for (const { id, time, seen_at, before } of revisions.rows) {
    const columns = before.price_usd === undefined ? candleColumns : ['price_usd'];
    found.get(id)?.revisions.set(
      `${time} ${seen_at}`,
      columns.map((name) => before[name] ?? ''),
    );
  }
  return found;
}

function rangeOf(bounds: string): Range {
  const [startMs, endMs] = bounds.split(' ').map(Number);
  return { startMs: startMs ?? Number.NaN, endMs: endMs ?? Number.NaN };
}
