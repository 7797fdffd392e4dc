/** What happened, newest first, from what leaves a trace in the store. */

import type { EpochMs } from '../../model/intervals.ts';
import { seriesName } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { refusalKinds, sourceTrouble } from '../../planning/source-outage.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, int8, nullable, statement, text, time } from '../../store/db/statement.ts';
import { checksumVerdict } from '../../store/ledger/ledger.ts';
import { identity, identityColumns, seriesNameSql } from '../../store/series/series.ts';
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
  const kinds = [await outages.on(database.pool, query), await revisions(database, query)];
  kinds.push(await rare.on(database.pool, query));
  return kinds
    .flat()
    .sort((one, other) => other.timeMs - one.timeMs)
    .slice(0, query.most);
}

/**
 * Failures in a row, without a success of the source between them as in `status`, and bans, which are one answer each.
 */
const event = {
  ...{ timeMs: time, untilMs: nullable(time), kind: text, text },
  ...{ seriesId: nullable(int4), name: nullable(text) },
};

const words = (values: readonly string[]) => `'{${values.join(',')}}'::text[]`;

const outages = statement({
  name: 'dashboard-outages',
  text: `
      with failures as (
        select time, source, verdict, error, verdict = 'rate_limited' as is_ban,
               lag(time) over (partition by source, verdict = 'rate_limited' order by time) as before
        from (select time, source, verdict, error from tidemark.fetches
              where time >= $sinceMs and error is not null
                and verdict = any (${words([...sourceTrouble, 'rate_limited'])})
              order by time desc limit ${mostFailures}) newest
      ), begun as (
        select *, before is null or time - before > interval '${apart}' or not is_ban and exists (
          select from tidemark.fetches s where s.time > f.before and s.time < f.time and s.error is null
            and s.verdict <> '${checksumVerdict}' and s.source = f.source) as begins
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
      having is_ban or count(*) >= ${fewestFailures} or bool_or(verdict = any (${words(refusalKinds)}))
      order by 1 desc limit $most`,
  parameters: { sinceMs: time, most: int4 },
  row: event,
});

async function revisions(
  database: Database,
  { sinceMs, most }: { sinceMs: EpochMs; most: number },
): Promise<StoredEvent[]> {
  const rows = await revisionHours.on(database.pool, { sinceMs, most });
  return rows.map(({ series, values, ...row }) => ({
    ...row,
    kind: 'revision',
    text: `${values} ${values === 1 ? 'value' : 'values'} revised by the source`,
    name: seriesName(series),
  }));
}

const revisionHours = statement({
  name: 'dashboard-revision-events',
  text: `
    select ${identityColumns}, r."timeMs", r."untilMs", r.values from (
      select series_id, min(seen_at) as "timeMs", max(seen_at) as "untilMs", count(*) as values
      from tidemark.point_revisions where seen_at >= $sinceMs
      group by series_id, date_bin('1 hour', seen_at, 'epoch') order by 2 desc limit $most
    ) r join tidemark.series s on s.id = r.series_id`,
  parameters: { sinceMs: time, most: int4 },
  row: { ...identity, timeMs: time, untilMs: time, values: int8 },
});

/** Upgrades of the schema, changes of the watch list, and what was asked for at the dashboard. */
const rare = statement({
  name: 'dashboard-rare-events',
  text: `
      select "timeMs", null::timestamptz as "untilMs", kind, text, null::int as "seriesId", null as name from (
        (select max(run_on)::timestamptz as "timeMs", 'upgrade' as kind,
                concat('schema ', min(split_part(name, '_', 1)),
                       case when count(*) > 1 then ' to ' || max(split_part(name, '_', 1)) end) as text
         from tidemark.migrations group by date_bin('1 minute', run_on, 'epoch') order by 1 desc limit $most)
        union all
        (select time, 'action', concat(action, ': ', coalesce(result, state)) from tidemark.actions
         order by id desc limit $most)
        union all
        (select untracked_at, 'untracked', ${seriesNameSql}
         from tidemark.series s where untracked_at is not null order by 1 desc limit $most)
      ) e order by 1 desc limit $most`,
  parameters: { most: int4 },
  row: event,
});
