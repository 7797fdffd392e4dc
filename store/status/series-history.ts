/** The history of one series, for `tidemark why` and the dashboard. */

import type pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { List } from '../../model/list.ts';
import { eachList } from '../../model/lists/index.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { nearest } from '../../planning/near-names.ts';
import type { Database } from '../db/database.ts';
import {
  bool,
  int4,
  jsonb,
  listOf,
  nullable,
  oneOf,
  openRange,
  type RowOf,
  range,
  statement,
  text,
  time,
} from '../db/statement.ts';
import type { LedgerEntry } from '../ledger/ledger.ts';
import { readOtherNames } from '../series/aliases.ts';
import { identity, identityColumns, isUnknown, nameEndSql, seriesColumns, seriesKey } from '../series/series.ts';

export type PastFetch = RowOf<typeof pastFetches.row>;
export type SeriesHistory = Awaited<ReturnType<typeof readSeriesHistory>>;

/**
 * Finds series by ids, quoted names and patterns. Words that are none of these make up one name or pattern:
 * `binance bitcoin/tether m1`, `kraken * m1`.
 *
 * @throws TidemarkError UNKNOWN_SERIES
 */
export async function findSeries(database: Database, words: readonly string[]): Promise<number[]> {
  const isQuoted = (word: string) => /\s/.test(word.trim());
  // Beside a quoted word, a pattern without a blank is quoted too: `'bybit * m1' 'kraken*'`.
  const arePatterns = words.some(isQuoted);
  const areApart = words.every((word) => /^\d+$/.test(word) || isQuoted(word) || (arePatterns && word.includes('*')));
  return findEach(database, areApart ? words : [words.join(' ')]);
}

/** As {@link findSeries}, where each word is an id, a name or a pattern. @throws TidemarkError UNKNOWN_SERIES */
export async function findEach(database: Database, words: readonly string[]): Promise<number[]> {
  const listed = await listSeriesNames(database);
  const known = new Set(listed.map(({ id }) => String(id)));
  const ids: number[] = [];
  for (const word of words) {
    if (known.has(word)) ids.push(Number(word));
    else if (word.includes('*')) ids.push(...matching(word, listed));
    else ids.push(await findSeriesByName(database, word));
  }
  return [...new Set(ids)];
}

type ListedSeries = Awaited<ReturnType<typeof listSeriesNames>>[number];

/** The tracked series of a pattern, in which `*` is any text. @throws TidemarkError UNKNOWN_SERIES */
function matching(pattern: string, listed: readonly ListedSeries[]): number[] {
  const spelled = pattern.trim().replaceAll(/\s+/g, ' ');
  const parts = spelled.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const whole = new RegExp(`^${parts.join('.*')}$`, 'i');
  const found = listed.filter(({ name, isTracked }) => isTracked && whole.test(name));
  if (found.length > 0) return found.map(({ id }) => id);
  const meant = patternMeant(spelled, listed);
  throw new TidemarkError('UNKNOWN_SERIES', `no tracked series matches ${JSON.stringify(spelled.slice(0, 200))}`, {
    remedy:
      meant === null
        ? "`tidemark status --all` lists the names; a pattern is of a whole name: 'binance * m1'"
        : `did you mean ${JSON.stringify(meant)}?`,
  });
}

/** A pattern with the nearest of the words that names have; null: it has no other words. */
function patternMeant(pattern: string, listed: readonly ListedSeries[]): string | null {
  const word = /[^\s/*]+/g;
  const known = new Set(listed.flatMap(({ name, isTracked }) => (isTracked ? (name.match(word) ?? []) : [])));
  const meant = pattern.replaceAll(word, (typed) => (known.has(typed) ? typed : (nearest(typed, known) ?? typed)));
  return meant === pattern ? null : meant;
}

/** The name of a stored series that is nearest to another one; null: none is near. */
export async function nearestSeries(client: pg.Pool | pg.ClientBase, name: string): Promise<string | null> {
  const rows = await keysOfSeries.on(client, {});
  return nearest(
    name,
    rows.map(({ series }) => seriesName(series)),
  );
}

/** The keys of series, by the names of {@link findSeriesByName}. @throws TidemarkError UNKNOWN_SERIES */
export async function keysNamed(database: Database, names: readonly string[]): Promise<SeriesKey[]> {
  const ids = await Promise.all(names.map((name) => findSeriesByName(database, name)));
  const known = new Map((await listSeriesNames(database)).map(({ id, series }) => [id, series]));
  return ids.flatMap((id) => known.get(id) ?? []);
}

/** Every series, tracked or not, with its name as in `status`. */
export async function listSeriesNames(database: Database) {
  const rows = await keysOfSeries.on(database.pool, {});
  return rows.map((row) => ({ ...row, name: seriesName(row.series) }));
}

const keysOfSeries = statement({
  name: 'keys-of-series',
  text: `select ${seriesColumns}, untracked_at is null as "isTracked" from tidemark.series s order by id`,
  row: { id: int4, series: seriesKey, isTracked: bool },
});

const maxSuggested = 3;

/**
 * Finds a series by its id, or by its name as in `status`, also by the codes or ids that its source's market has
 * besides, by the source's symbol (`binance BTCUSDT h1`), and with the source in place of the exchange, or neither.
 * Case is ignored where that leaves one.
 *
 * @throws TidemarkError BAD_ARGUMENT for a name of several.
 * @throws TidemarkError UNKNOWN_SERIES that suggests the names that contain these words, or else the nearest one.
 */
export async function findSeriesByName(database: Database, name: string): Promise<number> {
  const spelled = name.trim().replaceAll(/\s+/g, ' ');
  const wanted = spelled.toLowerCase();
  const names = await listSeriesNames(database);
  const exact = names.find((one) => String(one.id) === spelled || one.name === spelled);
  if (exact !== undefined) return exact.id;
  const others = await readOtherNames.on(database.pool, {});
  const other = others.find((one) => one.name.toLowerCase() === wanted);
  if (other !== undefined) return other.id;
  const [found, another] = names.filter((one) => one.name.toLowerCase() === wanted);
  if (found !== undefined && another === undefined) return found.id;
  if (found !== undefined && another !== undefined)
    throw new TidemarkError('BAD_ARGUMENT', `several series are named ${JSON.stringify(spelled)} but for case`, {
      remedy: `did you mean ${JSON.stringify(found.name)} or ${JSON.stringify(another.name)}?`,
    });
  const ids = new Set([
    ...(await marketsNamed.on(database.pool, { wanted })).map(({ id }) => id),
    ...others.filter((one) => withoutExchange(one.name.toLowerCase()) === wanted).map(({ id }) => id),
  ]);
  const named = names.filter(({ id }) => ids.has(id));
  if (named.length > 1)
    throw new TidemarkError('BAD_ARGUMENT', `several series are named ${JSON.stringify(spelled)}`, {
      remedy: `did you mean ${named.map((one) => JSON.stringify(one.name)).join(' or ')}?`,
    });
  if (named[0] !== undefined) return named[0].id;
  const list = eachList.find((one) => isListNamed(one, wanted));
  if (list !== undefined) throw ofList(list, spelled);
  const { near } = await nearNames.one(database.pool, { wanted, names: names.map((one) => one.name) });
  // Of a part of a name, such as `binance bitcoin`, the first few that contain it.
  const typed = wanted.split(/[ /]/);
  const containingAll = names.filter((one) => typed.every((word) => one.name.toLowerCase().includes(word)));
  const ofSymbol = new Set((await seriesOfSymbols.on(database.pool, { symbols: typed })).map(({ id }) => id));
  const containing = containingAll.length > 0 ? containingAll : names.filter(({ id }) => ofSymbol.has(id));
  const suggested =
    /^\d*$/.test(wanted) || containing.length === 0
      ? near.slice(0, 1)
      : containing.slice(0, maxSuggested).map((one) => one.name);
  const more = containing.length > maxSuggested ? `, or one of ${containing.length - maxSuggested} others` : '';
  throw new TidemarkError(
    'UNKNOWN_SERIES',
    `no series has the id or the name ${JSON.stringify(name.slice(0, 200))}`,
    suggested.length === 0
      ? {}
      : { remedy: `did you mean ${suggested.map((one) => JSON.stringify(one)).join(' or ')}${more}?` },
  );
}

/** `rates`, `asset-markets`, or `markets of bitcoin`. */
const isListNamed = ({ name, word, askedFor, entries }: List, wanted: string) =>
  wanted === word || wanted === name || (askedFor === 'asset' && wanted.startsWith(`${entries} of `));

function ofList({ word, askedFor, views }: List, spelled: string): TidemarkError {
  const track = `tidemark track ${word}${askedFor === 'asset' ? ' --asset ID' : ''}`;
  return new TidemarkError(
    'UNKNOWN_SERIES',
    `${JSON.stringify(spelled)} is a list, not a series: a source gives only its present, so that nothing of its ` +
      'past can be missing, compared or requested again',
    {
      remedy:
        `\`tidemark status\` shows how old it is and what failed, \`${track}\` polls it at once after a failure, and ` +
        `\`select * from ${views.now}\` shows what the last poll gave`,
    },
  );
}

function withoutExchange(name: string): string {
  return name.slice(name.indexOf(' ') + 1);
}

/** The series of markets by names that begin with the source, or nothing, or have the symbol of a source. */
const marketsNamed = statement({
  name: 'markets-named',
  isPlannedAnew: true,
  text: `
    select distinct s.id from tidemark.series s join tidemark.series_sources x on x.series_id = s.id
    left join tidemark.source_symbols y on y.source = x.source and y.symbol = x.symbol
    cross join lateral (values (s.exchange_id || ' '), (x.source || ' '), ('')) p (prefix)
    cross join lateral (values (s.base_id || '/' || s.quote_id), (y.base || '/' || y.quote), (x.symbol)) m (market)
    where s.exchange_id is not null and m.market <> ''
      and lower(p.prefix || m.market || ' ' || s.interval || ${nameEndSql}) = $wanted
    order by s.id`,
  parameters: { wanted: text },
  row: { id: int4 },
});

const seriesOfSymbols = statement({
  name: 'series-of-symbols',
  isPlannedAnew: true,
  text: `select distinct series_id as id from tidemark.series_sources
         where symbol <> '' and lower(symbol) = any ($symbols)`,
  parameters: { symbols: listOf(text) },
  row: { id: int4 },
});

const nearNames = statement({
  name: 'near-names',
  text: 'select tidemark.near_names($wanted, $names) as near',
  parameters: { wanted: text, names: listOf(text) },
  row: { near: listOf(text) },
});

/** Reads a series with its newest requests, revisions and rejected rows. @throws TidemarkError UNKNOWN_SERIES */
export async function readSeriesHistory(database: Database, query: { seriesId: number; nowMs: EpochMs; most: number }) {
  const { seriesId, nowMs, most } = query;
  const [row] = await seriesFacts.on(database.pool, { seriesId, now: nowMs });
  if (row === undefined) throw new TidemarkError('UNKNOWN_SERIES', `no series has the id ${seriesId}`);
  const { blockedUntilMs: untilMs, message, isUnknown: isNotKnown, ...facts } = row;
  const newest = { seriesId, most };
  return {
    ...facts,
    blocked: untilMs === null ? null : { untilMs, message },
    /** Why it has no point; null: its source knows it. */
    unknown: isNotKnown ? message : null,
    fetches: await pastFetches.on(database.pool, { ...newest, within: null }),
    revisions: await revisions.on(database.pool, newest),
    rejections: await rejections.on(database.pool, newest),
  };
}

/**
 * The parts of a range that are confirmed to hold no point, the first ones first, each with its whole silence.
 *
 * `answers`: the newest two about the part within, the older one first. None has a point in it, or it would not be
 * confirmed. The ledger forgets old ones; `answeredMs` is kept.
 */
export const readConfirmedSilences = statement({
  name: 'confirmed-silences',
  isPlannedAnew: true,
  text: `
    select lower(r) as "startMs", upper(r) as "endMs",
           (select max(e.answered_at) from tidemark.empty_answers e where e.series_id = s.id and e.range && r * $within)
             as "answeredMs",
           coalesce((
             select jsonb_agg(jsonb_build_object('timeMs', floor(extract(epoch from f.time) * 1000),
                                                 'verdict', f.verdict, 'source', f.source) order by f.time)
             from (
               select time, verdict, source from tidemark.fetches
               where series_id = s.id and range && r * $within
                 and verdict in ('filled', 'cut_short', 'empty', 'confirmed_empty')
               order by time desc limit 2
             ) f
           ), '[]') as answers
    from tidemark.series s, unnest(s.confirmed_empty) r
    where s.id = $seriesId and r && $within order by r limit $most`,
  parameters: { seriesId: int4, within: range, most: int4 },
  row: {
    ...{ startMs: time, endMs: time, answeredMs: nullable(time) },
    answers: jsonb<ReadonlyArray<{ readonly timeMs: EpochMs; readonly verdict: string; readonly source: string }>>(),
  },
});

const seriesFacts = statement({
  name: 'series-facts',
  text: `
    select ${identityColumns}, created_at as "createdMs", untracked_at as "untrackedMs", tracked,
           least(earliest, begins) as "beginsMs", due_at as "dueMs",
           case when blocked_until > $now then blocked_until end as "blockedUntilMs",
           coalesce(blocked_message, 'refused') as message, ${isUnknown} as "isUnknown"
    from tidemark.series s where id = $seriesId`,
  parameters: { seriesId: int4, now: time },
  row: {
    ...{ ...identity, createdMs: time },
    /** Null: it is tracked. */
    untrackedMs: nullable(time),
    tracked: openRange,
    /** The earliest time with a point, stored or shown by a probe; null: unknown. */
    beginsMs: nullable(time),
    /** Of events: when the next one is due; null: unknown, or the series is of no events. */
    dueMs: nullable(time),
    ...{ blockedUntilMs: nullable(time), message: text, isUnknown: bool },
  },
});

const newestOf = { seriesId: int4, most: int4 };

/** The newest requests of a series. @param within null: for any periods. */
export const pastFetches = statement({
  name: 'past-fetches',
  isPlannedAnew: true,
  text: `
    select time as "timeMs", range, lane, attempt, verdict, status, fresh, changed, unchanged, rejected,
           duration_ms as "durationMs", rejected_for as "rejectedFor", error, source, body
    from tidemark.fetches
    where series_id = $seriesId and ($within is null or range && $within) order by time desc limit $most`,
  parameters: { ...newestOf, within: nullable(range) },
  row: {
    ...{ timeMs: time, range: nullable(range), lane: oneOf<LedgerEntry['lane']>(), attempt: int4, verdict: text },
    ...{ status: nullable(int4), fresh: int4, changed: int4, unchanged: int4, rejected: int4, durationMs: int4 },
    ...{ rejectedFor: nullable(text), error: nullable(text), source: text, body: nullable(text) },
  },
});

/** `before` has the previous values by the names of columns. */
const revisions = statement({
  name: 'past-revisions',
  isPlannedAnew: true,
  text: `
    select time as "timeMs", seen_at as "seenAtMs",
           (select jsonb_object_agg(key, value) from jsonb_each_text(before)) as before
    from tidemark.point_revisions where series_id = $seriesId order by seen_at desc, time desc limit $most`,
  parameters: newestOf,
  row: { timeMs: time, seenAtMs: time, before: jsonb<Readonly<Record<string, string>>>() },
});

const rejections = statement({
  name: 'past-rejections',
  isPlannedAnew: true,
  text: `
    select seen_at as "seenAtMs", reason, raw from tidemark.quarantine
    where series_id = $seriesId order by seen_at desc, id desc limit $most`,
  parameters: newestOf,
  row: { seenAtMs: time, reason: text, raw: text },
});
