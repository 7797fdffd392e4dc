/** What happened, newest first, from what leaves a trace in the store. */

import type { EpochMs } from '../../model/intervals.ts';
import { seriesName } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { refusalKinds, sourceTrouble } from '../../planning/source-outage.ts';
import { type Database, timestamp } from '../../store/db/database.ts';
import { checksumVerdict } from '../../store/ledger/ledger.ts';
import { type SeriesRow, seriesColumns, toSeriesKey } from '../../store/series/series.ts';
import type { StoredEvent } from './shapes.ts';

/** Failures further apart than this are two outages. */
const apart = '10 minutes';
/** A source with fewer failures in a row fails now and then, as every source does. */
const fewestFailures = 3;
/** Failures that are looked at, the newest: each costs a look-up of the success before it. */
const mostFailures = 10_000;

/** @param query.sinceMs of outages, bans and revisions; the others are few, and of any age. */
export async function readEvents(
  database: Database,
  query: { sinceMs: EpochMs; most: number },
): Promise<StoredEvent[]> {
  // Sequential, so that the dashboard takes one connection.
  const kinds = [await outages(database, query), await revisions(database, query)];
  kinds.push(await rare(database, query.most));
  return kinds
    .flat()
    .sort((one, other) => other.timeMs - one.timeMs)
    .slice(0, query.most);
}

/** Failures in a row, without a success of the source between them as in `status`, and bans, which are one answer each. */
async function outages(
  database: Database,
  { sinceMs, most }: { sinceMs: EpochMs; most: number },
): Promise<StoredEvent[]> {
  const result = await database.pool.query<StoredEvent>({
    name: 'dashboard-outages',
    text: `
      with failures as (
        select time, source, verdict, error, verdict = 'rate_limited' as is_ban,
               lag(time) over (partition by source, verdict = 'rate_limited' order by time) as before
        from (select time, source, verdict, error from tidemark.fetches
              where time >= $1 and error is not null and verdict = any ($2)
              order by time desc limit $5) newest
      ), begun as (
        select *, before is null or time - before > interval '${apart}' or not is_ban and exists (
          select from tidemark.fetches s where s.time > f.before and s.time < f.time and s.error is null and s.verdict <> '${checksumVerdict}'
          and s.source = f.source) as begins
        from failures f
      ), numbered as (
        select *, count(*) filter (where begins) over (partition by source, is_ban order by time) as number from begun
      )
      select min(time) as "timeMs", max(time) as "untilMs", case when is_ban then 'ban' else 'outage' end as kind,
             concat(coalesce(nullif(source, '${defaultSource}'), 'the source'), ': ',
                    (array_agg(error order by time desc))[1], ' (', count(*),
                    case count(*) when 1 then ' request)' else ' requests)' end) as text,
             null::int as "seriesId", null as name
      from numbered group by source, is_ban, number
      having is_ban or count(*) >= $3 or bool_or(verdict = any ($6))
      order by 1 desc limit $4`,
    values: [timestamp(sinceMs), [...sourceTrouble, 'rate_limited'], fewestFailures, most, mostFailures, refusalKinds],
  });
  return result.rows;
}

async function revisions(
  database: Database,
  { sinceMs, most }: { sinceMs: EpochMs; most: number },
): Promise<StoredEvent[]> {
  const result = await database.pool.query<SeriesRow & { firstMs: EpochMs; lastMs: EpochMs; values: number }>({
    name: 'dashboard-revision-events',
    text: `select ${seriesColumns}, r."firstMs", r."lastMs", r.values from (
             select series_id, min(seen_at) as "firstMs", max(seen_at) as "lastMs", count(*) as values
             from tidemark.point_revisions where seen_at >= $1
             group by series_id, date_bin('1 hour', seen_at, 'epoch') order by 2 desc limit $2
           ) r join tidemark.series s on s.id = r.series_id`,
    values: [timestamp(sinceMs), most],
  });
  return result.rows.map((row) => ({
    timeMs: row.firstMs,
    untilMs: row.lastMs,
    kind: 'revision',
    text: `${row.values} ${row.values === 1 ? 'value' : 'values'} revised by the source`,
    seriesId: row.id,
    name: seriesName(toSeriesKey(row)),
  }));
}

/** Deploys that changed the schema, changes of the watch list, and what was asked for at the dashboard. */
async function rare(database: Database, most: number): Promise<StoredEvent[]> {
  const result = await database.pool.query<StoredEvent>({
    name: 'dashboard-rare-events',
    text: `
      select *, null::timestamptz as "untilMs", null::int as "seriesId", null as name from (
        (select max(run_on)::timestamptz as "timeMs", 'deploy' as kind,
                'schema migrated: ' || string_agg(name, ', ' order by name) as text
         from tidemark.migrations group by date_bin('1 minute', run_on, 'epoch') order by 1 desc limit $1)
        union all
        (select time, 'action', concat(action, ': ', coalesce(result, state)) from tidemark.actions order by id desc limit $1)
        union all
        (select untracked_at, 'untracked', concat_ws(' ', exchange_id, concat_ws('/', base_id, quote_id), asset_id, interval)
         from tidemark.series where untracked_at is not null order by 1 desc limit $1)
      ) e order by 1 desc limit $1`,
    values: [most],
  });
  return result.rows;
}
