/** What happened, newest first, from what leaves a trace in the store: as a log, and as the marks of a timeline. */

import { counted } from '../../model/format.ts';
import { dayMs, type EpochMs, type Range } from '../../model/intervals.ts';
import { seriesName } from '../../model/series.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, int8, nullable, statement, text, time } from '../../store/db/statement.ts';
import { outages } from '../../store/ledger/source-outage.ts';
import { identity, identityColumns, isUnknown, seriesNameSql } from '../../store/series/series.ts';
import { readSourceTexts } from '../../store/series/sources.ts';
import { type Pause, readEndedPauses, readPause } from '../../store/settings/settings.ts';
import { readSourcePauses } from '../../store/settings/source-orders.ts';
import type { StoredEvent } from './shapes.ts';

/** @param query.sinceMs of outages, bans and revisions; the others are few, and of any age. */
export async function readEvents(
  database: Database,
  query: { sinceMs: EpochMs; nowMs: EpochMs; most: number },
): Promise<StoredEvent[]> {
  const { nowMs, most } = query;
  const recent = { startMs: query.sinceMs, endMs: Number.POSITIVE_INFINITY };
  // Sequential, so that the dashboard takes one connection.
  const kinds = [await readOutages(database, recent, query), await revisions(database, query)];
  kinds.push(await rare.on(database.pool, query), await upgrades.on(database.pool, { ...always, most }));
  kinds.push((await readPauses(database, nowMs)).filter((pause) => isWithin(pause, recent)));
  return newest(kinds.flat(), most);
}

/** Outages and bans far from the end of a range are not looked for: nobody sees them in so wide a chart. */
const mostMs = 31 * dayMs;
/** A source that is asked for something is asked at least so often, however often it fails. */
const askedMs = dayMs;

/** Outages, bans, pauses and upgrades of a time. */
export async function readTimeline(
  database: Database,
  range: Range,
  query: { nowMs: EpochMs; most: number },
): Promise<StoredEvent[]> {
  const looked = { ...range, startMs: Math.max(range.startMs, range.endMs - mostMs) };
  const marks = await readOutages(database, { ...looked, startMs: looked.startMs - askedMs }, query);
  marks.push(...(await readPauses(database, query.nowMs)));
  marks.push(...(await upgrades.on(database.pool, { ...range, most: query.most })));
  return newest(
    marks.filter((mark) => isWithin(mark, range)),
    query.most,
  );
}

const isWithin = ({ timeMs, untilMs }: StoredEvent, { startMs, endMs }: Range) =>
  timeMs < endMs && (untilMs ?? timeMs) >= startMs;

const newest = (events: readonly StoredEvent[], most: number) =>
  events.toSorted((one, other) => other.timeMs - one.timeMs).slice(0, most);

/** Each up to the first good answer after it, or up to now. */
async function readOutages(
  database: Database,
  { startMs, endMs }: Range,
  { nowMs, most }: { nowMs: EpochMs; most: number },
): Promise<StoredEvent[]> {
  const query = { source: null, sinceMs: startMs, untilMs: endMs, most };
  const found = await outages.on(database.pool, query);
  const nameOf = await readSourceTexts(database, nowMs);
  return found.map(({ timeMs, untilMs: failedMs, answeredMs, isBan, source, requests, error }) => {
    // What nobody asks for any more has no end.
    const untilMs = answeredMs ?? (nowMs - failedMs < askedMs ? nowMs : failedMs);
    const over = answeredMs === null ? ', no good answer since' : '';
    return {
      ...{ timeMs, untilMs, kind: isBan ? 'ban' : 'outage', seriesId: null, name: null },
      text: `${nameOf(source)}: ${error} (${counted(requests, 'request')}${over})`,
    };
  });
}

/** Those that have ended, and those in force up to now. */
async function readPauses(database: Database, nowMs: EpochMs): Promise<StoredEvent[]> {
  const ended = await readEndedPauses(database);
  const nameOf = await readSourceTexts(database, nowMs);
  const all = await readPause(database.pool);
  const inForce = [...(all === null ? [] : [[null, all] as const]), ...(await readSourcePauses(database))];
  const eventOf = (source: string | null, { sinceMs, by }: Pause, untilMs: EpochMs, end: string): StoredEvent => ({
    ...{ timeMs: sinceMs, untilMs, kind: 'pause', seriesId: null, name: null },
    text: `${source === null ? 'all requests' : nameOf(source)} paused by ${by ?? 'a command'}${end}`,
  });
  return [
    ...ended.map((pause) => eventOf(pause.source, pause, pause.untilMs, '')),
    ...inForce.map(([source, pause]) => eventOf(source, pause, nowMs, ', not resumed yet')),
  ];
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

const always = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY };

/** Upgrades of the schema. */
const upgrades = statement({
  name: 'dashboard-upgrades',
  text: `
    select max(run_on)::timestamptz as "timeMs", null::timestamptz as "untilMs", 'upgrade' as kind,
           concat('schema ', min(split_part(name, '_', 1)),
                  case when count(*) > 1 then ' to ' || max(split_part(name, '_', 1)) end) as text,
           null::int as "seriesId", null as name
    from tidemark.migrations where run_on >= $startMs and run_on < $endMs
    group by date_bin('1 minute', run_on, 'epoch') order by 1 desc limit $most`,
  parameters: { startMs: time, endMs: time, most: int4 },
  row: event,
});

/** Changes of the watch list, and what was asked for at the dashboard. */
const rare = statement({
  name: 'dashboard-rare-events',
  text: `
      select "timeMs", null::timestamptz as "untilMs", kind, text, null::int as "seriesId", null as name from (
        (select time as "timeMs", 'action' as kind, concat(action, ': ', coalesce(result, state)) as text
         from tidemark.actions
         order by id desc limit $most)
        union all
        (select untracked_at, 'untracked',
                ${seriesNameSql} || case when ${isUnknown} then ': ' || s.blocked_message else '' end
         from tidemark.series s where untracked_at is not null order by 1 desc limit $most)
      ) e order by 1 desc limit $most`,
  parameters: { most: int4 },
  row: event,
});
