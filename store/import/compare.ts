/** What is stored otherwise than a file has it, digit by digit. Nothing is written. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import type { Range } from '../../planning/ranges.ts';
import { timeRanges, timestamp } from '../database.ts';
import type { PointLines } from '../point-lines.ts';
import { pointArrays, pointSql } from '../point-sql.ts';

export interface FileDifference {
  readonly timeMs: EpochMs;
  /** Values by column, digit by digit. */
  readonly stored: Readonly<Record<string, string>>;
  /** Null: the file has no such point, in a range of which it claims to have all. */
  readonly inFile: Readonly<Record<string, string>> | null;
}

export interface FileComparison {
  /** In order of time. */
  readonly differences: readonly FileDifference[];
  /** Equal as numbers, but with other digits: kept as first received. */
  readonly rewritten: number;
}

/**
 * Compares the points of a file with what is stored within `window`, within the caller's transaction. A stored point
 * that is not covered is provisional, as an open candle is: the file's may replace it, and it is no difference.
 *
 * @param covered where the file claims to have all points that there are.
 */
export async function compareWithFile(
  client: pg.PoolClient,
  input: { seriesId: number; window: Range; covered: readonly Range[]; points: PointLines },
): Promise<FileComparison> {
  const result = await client.query<{ rewritten: number; differences: FileDifference[] }>({
    ...statements[input.points.dataset],
    values: [
      input.seriesId,
      timestamp(input.window.startMs),
      timestamp(input.window.endMs),
      timeRanges(input.covered),
      ...pointArrays(input.points),
    ],
  });
  return result.rows[0] ?? { rewritten: 0, differences: [] };
}

const statements = Object.freeze({
  candles: comparison('candles'),
  asset_history: comparison('asset_history'),
});

/** `$1` series, `$2` and `$3` the window, `$4` what the file covers, `$5` times, `$6`... the value columns. */
function comparison(dataset: PointLines['dataset']) {
  const { incoming, stored, different, writtenOtherwise, object } = pointSql(dataset, 5);
  const texts = (from: string) => object(from, '::text');
  return {
    name: `compare-file-${dataset}`,
    text: `
      with incoming as (
        ${incoming}
      ), stored as materialized (
        ${stored}
      ), compared as (
        select s.time, ${texts('s')} as stored, case when i.time is not null then ${texts('i')} end as in_file,
               case when i.time is null then case when $4::tstzmultirange @> s.time then 'different' end
                    when ${different}
                      then case when k.covered @> s.time then 'different' end
                    when ${writtenOtherwise} then 'rewritten'
               end as kind
        from stored s left join incoming i on i.time = s.time
             join tidemark.series k on k.id = $1
      )
      select count(*) filter (where kind = 'rewritten')::int as rewritten,
             coalesce(jsonb_agg(jsonb_build_object('timeMs', (extract(epoch from time) * 1000)::bigint, 'stored', stored,
                                                   'inFile', in_file) order by time)
                        filter (where kind = 'different'), '[]') as differences
      from compared`,
  };
}
