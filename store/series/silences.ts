/** The silences of series, as the view `silences` has them. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Database } from '../db/database.ts';

export interface Silence extends Range {
  readonly seriesId: number;
  /** How it is proved. */
  readonly proof: string;
  /** When the source was asked for it last; null: unknown. */
  readonly answeredMs: EpochMs | null;
}

/** @param seriesIds absent: of all tracked series. @returns the longest first. */
export async function readSilences(database: Database, seriesIds?: readonly number[]): Promise<Silence[]> {
  const result = await database.pool.query<Silence>(
    `select v.series_id as "seriesId", v.from_time as "startMs", v.to_time as "endMs", v.proof, v.answered_at as "answeredMs"
     from public.silences v join tidemark.series s on s.id = v.series_id
     where ($1::int[] is null and s.untracked_at is null or s.id = any ($1)) order by v.length desc, v.from_time`,
    [seriesIds],
  );
  return result.rows;
}
