/** What a stream follows, by its text, and the reading of what is new of it. */

import type pg from 'pg';
import { type DatasetName, datasetNames, datasetOf } from '../../model/datasets/index.ts';
import { type EpochMs, graceMs, intervalMs, periodStart } from '../../model/intervals.ts';
import { normalize, type Range, subtract } from '../../model/ranges.ts';
import { longestRangeMs } from '../../model/request-range.ts';
import { type SeriesKey, seriesOfKey } from '../../model/series.ts';
import { bool, int4, int4s, nullable, statement, text, time } from '../../store/db/statement.ts';
import { keyParameters, keyValues } from '../../store/series/series.ts';
import type { MarketData } from '../market-data.ts';
import { millisecondsOf } from '../queries/query.ts';
import { badRequest, notFound } from '../response.ts';
import { type Cursor, fewRanges } from './cursor.ts';

/** Rows of one event, and the cursor of a client that has got it. */
export interface News {
  /** JSON texts. */
  readonly rows: readonly string[];
  readonly cursor: Cursor;
}

/** One series or the rates. */
export interface Followed {
  /** As the client named it. */
  readonly name: string;
  /** Where a client begins that names no time. */
  beginning(nowMs: EpochMs): EpochMs;
  /** Rows of `tidemark.series` whose commits may bring something; empty: the rates. */
  readonly ids: readonly number[];
  /** What is closed by time alone, such as a period that was stored before its grace time was over. */
  closedMs(nowMs: EpochMs): EpochMs;
  /** Whatever is closed and stored, and not before the cursor, in steps; nothing: there is none. */
  news(cursor: Cursor, nowMs: EpochMs): AsyncGenerator<News>;
}

type Points = NonNullable<MarketData['points']>;

/** Rows of rates of one event at most. */
const maxRates = 5000;

/**
 * @param name `binance bitcoin/tether m1`, `bitcoin h1`, `funding_rates binance bitcoin/tether:tether h8`, `rates`, or
 * `rates euro`.
 * @throws ServiceRefusal 400 and 404.
 */
export async function follow(
  name: string,
  { pool, points, visibleFromMs }: { pool: pg.Pool; points: Points; visibleFromMs: EpochMs | null },
): Promise<Followed> {
  const rates = /^rates(?: (\S+))?$/.exec(name);
  if (rates !== null) {
    const [, currency = null] = rates;
    const [may] = await mayFollow.on(pool, { currency });
    if (may?.known !== true) throw notFound(name);
    return followRates(name, pool, currency);
  }
  const series = seriesOf(name);
  const ids = (await idsOf.on(pool, keyValues(series))).map(({ id }) => id);
  if (ids.length === 0) throw notFound(name);
  return followSeries(name, { pool, points, visibleFromMs, series, ids });
}

function seriesOf(name: string): SeriesKey {
  const [, dataset = null, rest = ''] = /^(?:([a-z]+_[a-z_]+) )?(.*)$/.exec(name) ?? [];
  const market = /^(\S+) ([^\s/]+)\/(\S+) (\w+)$/.exec(rest);
  const [, ...key] = market ?? /^(\S+) (\w+)$/.exec(rest) ?? [];
  const named = (dataset ?? (market === null ? 'asset_history' : 'candles')) as DatasetName;
  const refused = `no series is named "${name}"`;
  if (!datasetNames.includes(named) || key.length !== (datasetOf(named).of === 'market' ? 4 : 2))
    throw badRequest(`${refused}; such as "binance bitcoin/tether m1", "bitcoin h1" or "rates euro"`);
  const series = seriesOfKey(named, key);
  if (series === null) throw badRequest(`${refused}: ${named} has ${datasetOf(named).intervals.join(', ')}`);
  return series;
}

interface FollowedSeries {
  readonly pool: pg.Pool;
  readonly points: Points;
  readonly visibleFromMs: EpochMs | null;
  readonly series: SeriesKey;
  /** Of every interval of the market or asset: a longer one may be derived. */
  readonly ids: readonly number[];
}

function followSeries(name: string, { pool, points, visibleFromMs, series, ids }: FollowedSeries): Followed {
  const periodMs = intervalMs[series.interval];
  const longestMs = longestRangeMs[series.interval];
  const { timeField } = datasetOf(series.dataset);

  /** The stored rows of a range whose periods have ended, and which part of it is known so far. */
  async function read({ startMs, endMs }: Range, nowMs: EpochMs) {
    const range = { startMs, endMs, ...(visibleFromMs === null ? {} : { visibleFromMs }) };
    const answer = await points(series, range, nowMs);
    const { untilMs = startMs, missing = [] } = answer?.coverage ?? {};
    const all = JSON.parse(answer?.rows ?? '[]') as Readonly<Record<string, EpochMs>>[];
    // A period that is not covered may have the point of when it was open.
    const isKnown = (timeMs: EpochMs) =>
      timeMs < untilMs && !missing.some((gap) => gap.startMs <= timeMs && timeMs < gap.endMs);
    const rows = all.filter((row) => isKnown(row[timeField] ?? untilMs)).map((row) => JSON.stringify(row));
    return { rows, untilMs, missing };
  }

  return {
    name,
    beginning: (nowMs) => periodStart(nowMs, series.interval),
    ids,
    closedMs: (nowMs) => periodStart(nowMs - graceMs, series.interval),
    async *news({ untilMs, missing }, nowMs) {
      let cursor: Cursor = { untilMs, missing };
      const [known] = await beginningOf.on(pool, { ids });
      if (known?.beginning == null) return;
      // All before is missing, and needs no reading: of minutes there are thousands of windows since 1970.
      const beginningMs = periodStart(Math.max(known.beginning, visibleFromMs ?? 0), series.interval);
      // What was missing comes first, as its times are earlier.
      for (const gap of missing)
        for (let startMs = Math.max(gap.startMs, beginningMs); startMs < gap.endMs; startMs += longestMs) {
          const endMs = Math.min(gap.endMs, startMs + longestMs);
          const found = await read({ startMs, endMs }, nowMs);
          const rest = { startMs: Math.max(startMs, found.untilMs), endMs };
          const left = [...subtract(cursor.missing, [{ startMs, endMs }]), ...found.missing, rest];
          cursor = { untilMs, missing: fewRanges(normalize(left)) };
          if (found.rows.length > 0) yield { rows: found.rows, cursor };
        }
      if (cursor.untilMs < beginningMs) {
        const before = { startMs: cursor.untilMs, endMs: beginningMs };
        cursor = { untilMs: beginningMs, missing: fewRanges(normalize([...cursor.missing, before])) };
      }
      for (;;) {
        const startMs = cursor.untilMs;
        const endMs = Math.min(startMs + longestMs, periodStart(nowMs, series.interval) + periodMs);
        if (endMs <= startMs) return;
        const found = await read({ startMs, endMs }, nowMs);
        if (found.untilMs <= startMs) return;
        cursor = { untilMs: found.untilMs, missing: fewRanges(normalize([...cursor.missing, ...found.missing])) };
        yield { rows: found.rows, cursor };
      }
    },
  };
}

function followRates(name: string, pool: pg.Pool, currency: string | null): Followed {
  return {
    name,
    beginning: (nowMs) => nowMs,
    ids: [],
    closedMs: () => 0,
    async *news({ untilMs }) {
      let sinceMs = untilMs;
      for (;;) {
        const found = await ratesSince.on(pool, { since: sinceMs, currency, most: maxRates });
        const last = found.at(-1);
        if (last === undefined) return;
        // A poll is one time, and is sent as a whole.
        const isCut = found.length === maxRates && found[0]?.time !== last.time;
        const whole = isCut ? found.filter(({ time: at }) => at < last.time) : found;
        sinceMs = (whole.at(-1) ?? last).time + 1;
        yield { rows: whole.map(({ row }) => row), cursor: { untilMs: sinceMs, missing: [] } };
      }
    },
  };
}

/** For each a text that changes when there may be more to read of it. */
export async function versionsOf(pool: pg.Pool, followed: readonly Followed[], nowMs: EpochMs): Promise<string[]> {
  const rows = await versions.on(pool, { ids: followed.flatMap(({ ids }) => ids) });
  const versionOf = new Map(rows.map(({ id, version }) => [id, version]));
  const [rates] = followed.some(({ ids }) => ids.length === 0) ? await newestRate.on(pool, {}) : [];
  return followed.map(({ ids, closedMs }) =>
    ids.length === 0 ? String(rates?.newest) : [closedMs(nowMs), ...ids.map((id) => versionOf.get(id))].join(' '),
  );
}

const { interval: _, ...names } = keyParameters;

const idsOf = statement({
  name: 'stream-series',
  text: `select id from tidemark.series
         where dataset = $dataset and exchange_id is not distinct from $exchange
           and base_id is not distinct from $base and quote_id is not distinct from $quote
           and asset_id is not distinct from $asset`,
  parameters: names,
  row: { id: int4 },
});

/** Nothing before it is stored, nor known to be empty at its interval; null: nothing is. */
const beginningOf = statement({
  name: 'stream-beginning',
  text: 'select min(lower(covered - before_beginning)) as beginning from tidemark.series where id = any ($ids)',
  parameters: { ids: int4s },
  row: { beginning: nullable(time) },
});

/** Every commit of points changes the row of its series, and so its `xmin`. */
const versions = statement({
  name: 'stream-versions',
  text: 'select id, xmin::text as version from tidemark.series where id = any ($ids)',
  parameters: { ids: int4s },
  row: { id: int4, version: text },
});

const newestRate = statement({
  name: 'stream-newest-rate',
  text: 'select max(time) as newest from tidemark.rate_points',
  parameters: {},
  row: { newest: nullable(time) },
});

/** Before the first poll no currency is known, so that any may come. */
const mayFollow = statement({
  name: 'stream-may-follow-rate',
  text: `select $currency::text is null or not exists (select from tidemark.currencies)
           or exists (select from tidemark.currencies where currency = $currency) as known`,
  parameters: { currency: nullable(text) },
  row: { known: bool },
});

const ratesSince = statement({
  name: 'stream-rates',
  text: `select p.time, json_build_object('id', c.currency, 'symbol', c.symbol, 'type', c.type,
                  'rateUsd', p.rate_usd::text, 'time', ${millisecondsOf('p.time')})::text as row
         from tidemark.rate_points p join tidemark.currencies c on c.id = p.currency_id
         where p.time >= $since and ($currency::text is null or c.currency = $currency)
         order by p.time, c.currency limit $most`,
  parameters: { since: time, currency: nullable(text), most: int4 },
  row: { time, row: text },
});
