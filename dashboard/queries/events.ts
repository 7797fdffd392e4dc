/** What happened, newest first, from what leaves a trace in the store. */

import { counted } from '../../model/format.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { seriesName } from '../../model/series.ts';
import { sourceText } from '../../model/sources.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, int8, nullable, statement, text, time } from '../../store/db/statement.ts';
import { outages } from '../../store/ledger/source-outage.ts';
import { identity, identityColumns, seriesNameSql } from '../../store/series/series.ts';
import type { StoredEvent } from './shapes.ts';

/** @param query.sinceMs of outages, bans and revisions; the others are few, and of any age. */
export async function readEvents(
  database: Database,
  query: { sinceMs: EpochMs; most: number },
): Promise<StoredEvent[]> {
  // Sequential, so that the dashboard takes one connection.
  const kinds = [await readOutages(database, query), await revisions(database, query)];
  kinds.push(await rare.on(database.pool, query));
  return kinds
    .flat()
    .sort((one, other) => other.timeMs - one.timeMs)
    .slice(0, query.most);
}

async function readOutages(database: Database, query: { sinceMs: EpochMs; most: number }): Promise<StoredEvent[]> {
  const found = await outages.on(database.pool, { ...query, source: null });
  return found.map(({ timeMs, untilMs, isBan, source, requests, error }) => ({
    ...{ timeMs, untilMs, kind: isBan ? 'ban' : 'outage', seriesId: null, name: null },
    text: `${sourceText(source)}: ${error} (${counted(requests, 'request')})`,
  }));
}

const event = {
  ...{ timeMs: time, untilMs: nullable(time), kind: text, text },
  ...{ seriesId: nullable(int4), name: nullable(text) },
};

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
