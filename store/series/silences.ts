/** The silences of series, as the view `silences` has them. */

import type { Database } from '../db/database.ts';
import { int4, listOf, nullable, type RowOf, statement, text, time } from '../db/statement.ts';

export type Silence = RowOf<(typeof silences)['row']>;

/** @param seriesIds absent: of all tracked series. @returns the longest first. */
export function readSilences(database: Database, seriesIds?: readonly number[]): Promise<Silence[]> {
  return silences.on(database.pool, { seriesIds: seriesIds ?? null });
}

/** `answeredMs` is when the source was asked for it last; null: unknown. */
const silences = statement({
  name: 'silences',
  isPlannedAnew: true,
  text: `
    select v.series_id as "seriesId", v.from_time as "startMs", v.to_time as "endMs", v.proof,
           v.answered_at as "answeredMs"
    from public.silences v join tidemark.series s on s.id = v.series_id
    where ($seriesIds is null and s.untracked_at is null or s.id = any ($seriesIds))
    order by v.length desc, v.from_time`,
  parameters: { seriesIds: nullable(listOf(int4)) },
  row: { seriesId: int4, startMs: time, endMs: time, proof: text, answeredMs: nullable(time) },
});
