/** What is stored otherwise than a file has it, digit by digit. Nothing is written. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import type { Range } from '../../planning/ranges.ts';
import { arrayOf, timeRange, timestamp } from '../database.ts';
import { columnsOf, type PointLines } from '../point-lines.ts';
import { pointColumns, pointTables } from '../points.ts';

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
  const { dataset, timesMs } = input.points;
  const columns = timesMs.length === 0 ? [] : columnsOf(input.points);
  const result = await client.query<{ rewritten: number; differences: FileDifference[] }>({
    ...statements[dataset],
    values: [
      input.seriesId,
      timestamp(input.window.startMs),
      timestamp(input.window.endMs),
      `{${input.covered.map(({ startMs, endMs }) => timeRange(startMs, endMs)).join(',')}}`,
      ...[0, ...pointColumns[dataset]].map((_, place) => arrayOf(columns[place] ?? [])),
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
  const columns = pointColumns[dataset];
  const list = (prefix: string, suffix = '') =>
    columns.map((column) => `${prefix}${column}${suffix}`).join(', ');
  const arrays = columns.map((_, index) => `$${index + 6}::numeric[]`).join(', ');
  const object = (from: string) =>
    `jsonb_build_object(${columns.map((column) => `'${column}', ${from}.${column}::text`).join(', ')})`;
  return {
    name: `compare-file-${dataset}`,
    text: `
      with incoming as (
        select * from unnest($5::timestamptz[], ${arrays}) as t (time, ${list('')})
      ), stored as materialized (
        select time, ${list('')} from tidemark.${pointTables[dataset]}
        where series_id = $1 and time >= $2 and time < $3
      ), compared as (
        select s.time, ${object('s')} as stored, case when i.time is not null then ${object('i')} end as in_file,
               case when i.time is null then case when $4::tstzmultirange @> s.time then 'different' end
                    when (${list('i.')}) is distinct from (${list('s.')})
                      then case when k.covered @> s.time then 'different' end
                    when (${list('i.', '::text')}) is distinct from (${list('s.', '::text')}) then 'rewritten'
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
