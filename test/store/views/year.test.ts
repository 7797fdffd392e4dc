/**
 * Functions beside a naive computation of their definitions, over a year of hours with gaps, hours without trades, ties,
 * zeros, and values from 1e-30 to 1e42. Prices are whole numbers of 1e-30 here, so that sums and variances are exact.
 */

import { beforeAll, expect, it } from 'vitest';
import { dayMs, type EpochMs, hourMs } from '../../../contract/intervals.ts';
import { timestamp } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { useStore } from '../open-store.ts';
import * as doubles from './by-doubles.ts';
import { market, put, type StoredCandle } from './candles.ts';
import { priceAt, rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const hours = 366 * 24;
const at = (hour: number) => startMs + hour * hourMs;

/** Not requested; it begins and ends within a day. */
const hole = [2011, 2059] as const;
const isCovered = (hour: number) => hour < hole[0] || hour >= hole[1];

/** A price in units of 1e-30. */
function units(text: string): bigint {
  const [whole = '', decimals = ''] = text.split('.');
  return BigInt(whole + decimals.padEnd(30, '0'));
}
const perUnit = 1e-30;

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => number): Map<number, Item[]> {
  const groups = new Map<number, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const candles: readonly StoredCandle[] = Array.from({ length: hours }, (_, hour) => {
  const [low = '', open = '', close = '', high = ''] = [0, 1, 2, 3]
    .map((nth) => priceAt(hour * 4 + nth))
    .sort((a, b) => Number(a) - Number(b));
  const volume = hour % 31 === 0 ? '0' : hour % 977 === 3 ? `1${'0'.repeat(42)}` : `${1 + (hour % 7)}.25`;
  return {
    timeMs: at(hour),
    open: hour % 2 ? open : close,
    high,
    low,
    close: hour % 2 ? close : open,
    volume,
  };
}).filter((_, hour) => isCovered(hour) && hour % 53 !== 7);
const assetPrices = Array.from({ length: hours }, (_, hour) =>
  isCovered(hour) && hour % 47 !== 9 ? priceAt(hour * 3 + 1) : null,
);

interface Row {
  readonly timeMs: EpochMs;
  /** Null: not covered. */
  readonly text: string | null;
}
/** The rows of `prices`: hours without trades are absent, and those that are not covered are null. */
function rowsOf(points: ReadonlyMap<EpochMs, string>): Row[] {
  return Array.from({ length: hours }, (_, hour) => hour).flatMap((hour) => {
    const text = points.get(at(hour)) ?? null;
    return text === null && isCovered(hour) ? [] : [{ timeMs: at(hour), text }];
  });
}
const lines: Readonly<Record<string, readonly Row[]>> = {
  'x year/tether': rowsOf(new Map(candles.map(({ timeMs, close }) => [timeMs, close]))),
  year: rowsOf(
    new Map(assetPrices.flatMap((price, hour) => (price === null ? [] : [[at(hour), price] as const]))),
  ),
};
const seriesNames = Object.keys(lines);

const store = useStore();
beforeAll(async () => {
  const { database } = store;
  const { seriesId } = await trackSeries(database, market('year', 'h1'), startMs, at(hours));
  await put(database, seriesId, candles);
  await storeLine(database, {
    key: { dataset: 'asset_history', assetId: 'year', interval: 'h1' },
    startMs,
    endMs: at(hours),
    prices: assetPrices,
  });
  await database.pool.query(
    `update tidemark.series set covered = tstzmultirange(tstzrange($1, $2), tstzrange($3, $4)), created_at = $1`,
    [startMs, at(hole[0]), at(hole[1]), at(hours)].map(timestamp),
  );
});

const query = async (sql: string) => (await rowsIn(store)(sql)).map((row) => row.split(' | '));

/** Compares to fifteen figures of the scale of the computation, or to the sixteen decimals of the result. */
function expectNear(
  given: readonly (string | null)[],
  wanted: doubles.Figures,
  scale: (place: number) => number = (place) => Math.abs(wanted[place] ?? 0),
): void {
  expect(given.length).toBe(wanted.length);
  for (const [place, value] of wanted.entries()) {
    const text = given[place] ?? null;
    if (value === null || text === null) expect([place, text]).toEqual([place, value]);
    else if (Math.abs(Number(text) - value) > 3e-15 * scale(place) + (text.length > 20 ? 2e-16 : 0))
      expect([place, text]).toEqual([place, value]);
  }
}

type Scale = (place: number) => number;
/** Compares columns of a function's rows, by their names; each with its scale, if it has another one. */
async function expectColumns(
  call: string,
  wanted: Readonly<Record<string, doubles.Figures | readonly [doubles.Figures, Scale]>>,
): Promise<void> {
  const names = Object.keys(wanted);
  const given = await query(`select ${names.join()} from ${call}`);
  for (const [nth, name] of names.entries()) {
    const [figures, scale] = (Array.isArray(wanted[name]?.[0]) ? wanted[name] : [wanted[name]]) as [
      doubles.Figures,
      Scale?,
    ];
    expectNear(
      given.map((row) => (row[nth] === '-' ? null : (row[nth] ?? null))),
      figures,
      scale,
    );
  }
}

const numbers = (line: readonly Row[]) => line.map(({ text }) => (text === null ? null : Number(text)));

it.each(seriesNames)('returns, volatility and drawdowns of %s', async (series) => {
  const line = lines[series] ?? [];
  const prices = numbers(line);
  const both = prices.map((price, place) => [prices[place - 1] ?? null, price] as const);
  const simple = both.map(([before, price]) =>
    before === null || price === null || before === 0 ? null : price / before - 1,
  );
  const logs = both.map(([before, price]) =>
    before === null || price === null || before === 0 || price === 0 ? null : Math.log(price / before),
  );
  await expectColumns(`returns('${series}', 'h1')`, {
    simple_return: [simple, (place) => Math.max(1, Math.abs(simple[place] ?? 0))],
    log_return: [logs, () => 1],
  });
  const perYear = Math.sqrt(8760);
  const volatility = doubles.rolling(logs, 9, (window) => doubles.sampleDeviation(window) * perYear);
  await expectColumns(`volatility('${series}', 'h1', periods => 9)`, {
    volatility: [volatility, (place) => 3 * perYear + (volatility[place] ?? 0)],
  });

  let peak: bigint | null = null;
  let deepest: number | null = null;
  const falls: (number | null)[] = [];
  const deepestYet: (number | null)[] = [];
  let [peakMs, troughMs, peakOfTroughMs, priceToReach] = [0, 0, 0, 0n];
  for (const { timeMs, text } of line) {
    const price = text === null ? null : units(text);
    if (price !== null && (peak === null || price >= peak)) [peak, peakMs] = [price, timeMs];
    const fall: number | null =
      price === null || peak === null || peak === 0n ? null : Number(price) / Number(peak) - 1;
    falls.push(fall);
    if (fall !== null && peak !== null && (deepest === null || fall < deepest))
      [deepest, troughMs, peakOfTroughMs, priceToReach] = [fall, timeMs, peakMs, peak];
    deepestYet.push(deepest);
  }
  await expectColumns(`drawdown('${series}', 'h1')`, {
    drawdown: [falls, () => 1],
    maximum_drawdown: [deepestYet, () => 1],
  });
  const recovered = line.find(
    ({ timeMs, text }) => timeMs > troughMs && text !== null && units(text) >= priceToReach,
  );
  expect(
    await query(
      `select ${millis('peak_time')}, ${millis('trough_time')}, ${millis('recovered_time')}, drawdown::float8
       from maximum_drawdown('${series}', 'h1')`,
    ),
  ).toEqual([[String(peakOfTroughMs), String(troughMs), String(recovered?.timeMs ?? '-'), String(deepest)]]);
});

const millis = (time: string) => `(extract(epoch from ${time}) * 1000)::bigint`;

it.each(seriesNames)('averages, bands and the strength index of %s', async (series) => {
  const line = lines[series] ?? [];
  const prices = numbers(line);
  const periods = 7;
  /** Mean and population deviation of the last prices, exact up to their last step. */
  const windows = line.map((_, place) => {
    const texts = line.slice(Math.max(0, place - periods + 1), place + 1).map(({ text }) => text);
    const values = texts.flatMap((text) => (text === null ? [] : [units(text)]));
    if (values.length < periods) return null;
    const count = BigInt(periods);
    const total = values.reduce((sum, value) => sum + value, 0n);
    const squares = values.reduce((sum, value) => sum + value * value, 0n);
    const deviation = (Math.sqrt(Number(count * squares - total * total)) / periods) * perUnit;
    return { mean: (Number(total) / periods) * perUnit, deviation };
  });
  const call = `('${series}', 'h1', periods => ${periods})`;
  const banded = (of: (window: { mean: number; deviation: number }, place: number) => number | null) =>
    windows.map((window, place) => (window === null ? null : of(window, place)));
  const sma = banded(({ mean }) => mean);
  await expectColumns(`sma${call}`, { sma });
  const scale = (place: number) => (windows[place]?.mean ?? 0) + 2 * (windows[place]?.deviation ?? 0);
  const relative = (figures: doubles.Figures) =>
    [
      figures,
      (place: number) =>
        10 * Math.max(1, Math.abs(figures[place] ?? 0), scale(place) / (windows[place]?.deviation || 1)),
    ] as const;
  await expectColumns(`bollinger${call}`, {
    middle_band: [sma, scale],
    lower_band: [banded(({ mean, deviation }) => mean - 2 * deviation), scale],
    upper_band: [banded(({ mean, deviation }) => mean + 2 * deviation), scale],
    bandwidth: relative(banded(({ mean, deviation }) => (mean > 0 ? (4 * deviation) / mean : null))),
    percent_b: relative(
      banded(({ mean, deviation }, place) =>
        deviation > 0 ? ((prices[place] ?? 0) - mean + 2 * deviation) / (4 * deviation) : null,
      ),
    ),
  });

  // Runs of known prices: an average begins anew after each gap.
  const ends = prices.flatMap((price, place) => (price === null ? [place] : [])).concat(prices.length);
  const restarting = (of: (run: readonly number[]) => doubles.Figures) => {
    const values: (number | null)[] = [];
    for (const end of ends) {
      values.push(...of(prices.slice(values.length, end).filter((price) => price !== null)));
      if (end < prices.length) values.push(null);
    }
    return values;
  };
  // Each price has a share in all that follow: the largest of them is the scale.
  const ema = restarting((run) => doubles.ema(run, 9));
  await expectColumns(`ema('${series}', 'h1', periods => 9)`, {
    ema: [ema, (place) => 100 * Math.abs(ema[place] ?? 0)],
  });
  await expectColumns(`rsi('${series}', 'h1', periods => 5)`, {
    rsi: [restarting((run) => doubles.rsi(run, 5)), () => 1e4],
  });
});

it('volume-weighted prices, by period and since the beginning of the session', async () => {
  for (const [interval, lengthMs, sessionMs] of [
    ['h1', hourMs, dayMs],
    ['h4', 4 * hourMs, dayMs],
    ['d1', dayMs, dayMs],
  ] as const) {
    const periods = new Map<EpochMs, { turnover: bigint; volume: bigint; count: number }>();
    for (const { timeMs, high, low, close, volume } of candles) {
      const begins = timeMs - (timeMs % lengthMs);
      const sums = periods.get(begins) ?? { turnover: 0n, volume: 0n, count: 0 };
      sums.turnover += (units(high) + units(low) + units(close)) * units(volume);
      sums.volume += units(volume);
      sums.count += 1;
      periods.set(begins, sums);
    }
    let session = { begins: 0, turnover: 0n, volume: 0n };
    const mean = ({ turnover, volume }: { turnover: bigint; volume: bigint }) =>
      volume === 0n ? null : (Number(turnover) / Number(3n * volume)) * perUnit;
    const wanted = [...periods].map(([timeMs, { turnover, volume, count }]) => {
      const begins = timeMs - (timeMs % sessionMs);
      if (session.begins !== begins) session = { begins, turnover: 0n, volume: 0n };
      session = { begins, turnover: session.turnover + turnover, volume: session.volume + volume };
      return { timeMs, count, vwap: mean({ turnover, volume }), session: mean(session) };
    });
    const call = `vwap('x', 'year', 'tether', '${interval}') where candles is not null`;
    expect(await query(`select ${millis('time')}, candles from ${call}`)).toEqual(
      wanted.map(({ timeMs, count }) => [String(timeMs), String(count)]),
    );
    await expectColumns(call, {
      vwap: wanted.map(({ vwap }) => vwap),
      session_vwap: wanted.map(({ session: since }) => since),
    });
  }
});

it.each(seriesNames)('seasons of %s', async (series) => {
  const line = lines[series] ?? [];
  const changes = line.flatMap(({ timeMs, text }, place) => {
    const before = line[place - 1] ?? null;
    if (text === null || before?.text == null || Number(before.text) === 0) return [];
    // The return of a candle belongs to its period, that of a price to the period that ends at it.
    return [
      {
        begins: series === 'year' ? timeMs - hourMs : timeMs,
        change: Number(text) / Number(before.text) - 1,
      },
    ];
  });
  for (const [name, call, group] of [
    ['hour', 'seasonality_by_hour', (timeMs: EpochMs) => new Date(timeMs).getUTCHours()],
    ['weekday', 'seasonality_by_weekday', (timeMs: EpochMs) => new Date(timeMs).getUTCDay() || 7],
  ] as const) {
    const groups = groupBy(changes, ({ begins }) => group(begins));
    const wanted = [...groups]
      .sort(([a], [b]) => a - b)
      .map(([key, ones]) => {
        const values = ones.map(({ change }) => change);
        const up = values.filter((value) => value > 0).length / values.length;
        return {
          key,
          count: values.length,
          mean: doubles.mean(values),
          deviation: doubles.sampleDeviation(values),
          up,
        };
      });
    const seasons = `${call}('${series}', 'h1')`;
    expect(await query(`select ${name}, observations from ${seasons}`)).toEqual(
      wanted.map(({ key, count }) => [String(key), String(count)]),
    );
    const figures = (of: 'mean' | 'deviation' | 'up') => {
      const values = wanted.map((season) => season[of]);
      return [values, (nth: number) => 1000 * Math.max(1, Math.abs(values[nth] ?? 0))] as const;
    };
    await expectColumns(seasons, {
      mean_return: figures('mean'),
      deviation: figures('deviation'),
      share_up: figures('up'),
    });
  }
});

it('prices at longer intervals', async () => {
  for (const interval of [2, 6, 12]) {
    const given = await query(
      `select ${millis('time')}, price_usd, coverage from price_history('year', 'h${interval}')`,
    );
    // The price of twelve hours is that of its first hour, whatever is known of the others.
    const wanted = assetPrices.flatMap((price, hour) =>
      hour % interval !== 0 || (price === null && isCovered(hour))
        ? []
        : [[String(at(hour)), price ?? '-', isCovered(hour) ? '1' : '0']],
    );
    expect(given).toEqual(wanted);
  }
});
