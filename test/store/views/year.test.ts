/**
 * Every function beside a naive computation of its definition, over a year of hours with gaps, hours without trades, ties,
 * zeros, and values from 1e-30 to 1e42. Prices are whole numbers of 1e-30 here, so that sums and variances are exact.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { dayMs, type EpochMs, hourMs } from '../../../contract/intervals.ts';
import { timestamp } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { derivedObjects } from '../../../store/views/apply.ts';
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

/** USD for one unit, polled every seven hours, with rates of zero and an outage of ten days. */
const polls = Array.from({ length: Math.ceil((hours * hourMs) / (7 * hourMs)) }, (_, poll) => ({
  timeMs: startMs + poll * 7 * hourMs,
  tether: ['1', '0.9998', '1.00021', '0.5'][poll % 4] ?? '1',
  euro: poll % 401 === 9 ? '0' : `1.0${poll % 97}7`,
})).filter(({ timeMs }) => timeMs < Date.UTC(2024, 6, 1) || timeMs > Date.UTC(2024, 6, 11));

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
  await database.pool.query(
    `with added as (
       insert into tidemark.currencies (currency, symbol, type)
       values ('tether', 'USDT', 'crypto'), ('euro', 'EUR', 'fiat') returning id, currency
     )
     insert into tidemark.rate_points
     select id, time, case currency when 'tether' then tether else euro end
     from added, unnest($1::timestamptz[], $2::numeric[], $3::numeric[]) as polls (time, tether, euro)`,
    [
      polls.map(({ timeMs }) => timestamp(timeMs)),
      polls.map(({ tether }) => tether),
      polls.map(({ euro }) => euro),
    ],
  );
});

const query = async (sql: string) => (await rowsIn(store)(sql)).map((row) => row.split(' | '));
/** A column of a function's rows as text; null stays null. */
const column = async (name: string, call: string) =>
  (await query(`select ${name} from ${call}`)).map(([value = '-']) => (value === '-' ? null : value));

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

const isMissing = (value: unknown) => value === null;

it('prices in another currency, by the last rate or the nearest one', async () => {
  for (const [series, call, aheadMs, oldestMs, looksAhead] of [
    ['x year/tether', `, max_age => '5 hours'`, hourMs, 5 * hourMs, false],
    ['year', '', 0, hourMs, false],
    ['year', `, max_age => '2 hours', look_ahead => true`, 0, 2 * hourMs, true],
  ] as const) {
    const wanted = (lines[series] ?? []).map(({ timeMs, text }) => {
      const moment = timeMs + aheadMs;
      const last = polls.findLast((rates) => rates.timeMs <= moment);
      const next = polls.find((rates) => rates.timeMs >= moment);
      const isNearer = next !== undefined && (!last || next.timeMs - moment < moment - last.timeMs);
      const used = looksAhead && isNearer ? next : last;
      const isTooOld = used === undefined || Math.abs(moment - used.timeMs) > oldestMs;
      if (text === null || isTooOld || used.euro === '0') return null;
      return (Number(text) * (series === 'year' ? 1 : Number(used.tether))) / Number(used.euro);
    });
    expect(wanted.filter(isMissing).length).toBeGreaterThan(200);
    await expectColumns(`prices_in('${series}', 'euro', 'h1'${call})`, { price: wanted });
  }
});

it('candles in another currency, by the rates at their beginning and end, which both lie within them', async () => {
  const rateAt = (moment: EpochMs) => {
    const last = polls.findLast((rates) => rates.timeMs <= moment);
    const isUsable = last !== undefined && moment - last.timeMs <= 5 * hourMs && last.euro !== '0';
    return isUsable ? Number(last.tether) / Number(last.euro) : null;
  };
  const rates = candles.map(({ timeMs }) => [rateAt(timeMs), rateAt(timeMs + hourMs)] as const);
  const outer = (side: typeof Math.max, [first, last]: readonly [number | null, number | null]) =>
    first === null || last === null ? null : side(first, last);
  const rateOf = {
    open: rates.map(([first]) => first),
    high: rates.map((both) => outer(Math.max, both)),
    low: rates.map((both) => outer(Math.min, both)),
    close: rates.map(([, last]) => last),
  };
  const converted = (name: keyof typeof rateOf) =>
    rateOf[name].map((rate, place) => (rate === null ? null : Number(candles[place]?.[name]) * rate));
  expect(converted('high').filter(isMissing).length).toBeGreaterThan(200);
  await expectColumns(
    `ohlcv_in('x', 'year', 'tether', 'euro', 'h1', max_age => '5 hours') where volume is not null`,
    { open: converted('open'), high: converted('high'), low: converted('low'), close: converted('close') },
  );
});

it.each([
  ...seriesNames.map((name) => ['price', `prices_in('${name}', `] as const),
  ...['open', 'high', 'low', 'close'].map((name) => [name, `ohlcv_in('x', 'year', 'tether', `] as const),
])('sixteen figures of each %s of %s...), whatever its size', async (price, call) => {
  const sized = `${call}'euro', 'h1', max_age => '5 hours') where ${price} > 0`;
  const figures = (await column(price, sized)).map(
    (text) => text?.replace('.', '').replace(/^0+/, '').length,
  );
  expect(Math.min(...figures.map(Number))).toBeGreaterThanOrEqual(16);
});

it('correlations of the whole range and of windows', async () => {
  const [left, right] = seriesNames.map(
    (name) => new Map((lines[name] ?? []).map(({ timeMs, text }) => [timeMs, text])),
  );
  const times = [...(left?.keys() ?? [])].filter((timeMs) => right?.has(timeMs));
  const logsOf = (line: ReadonlyMap<EpochMs, string | null> | undefined) =>
    times.map((timeMs, place) => {
      const [before, price] = [line?.get(times[place - 1] ?? 0) ?? null, line?.get(timeMs) ?? null];
      return before === null || price === null || Number(before) === 0 || Number(price) === 0
        ? null
        : Math.log(Number(price) / Number(before));
    });
  const [x, y] = [logsOf(left), logsOf(right)];
  const pairs = times.map((_, place) => [x[place] ?? null, y[place] ?? null] as const);
  const figuresOf = (some: typeof pairs) => {
    const known = some.filter(
      (pair): pair is readonly [number, number] => pair[0] !== null && pair[1] !== null,
    );
    return {
      ...doubles.correlation(
        known.map(([one]) => one),
        known.map(([, other]) => other),
      ),
      count: known.length,
    };
  };
  const names = `'x year/tether', 'year', 'h1'`;
  const whole = figuresOf(pairs);
  const [correlation = '', beta = '', observations = ''] =
    (await query(`select * from correlation(${names})`))[0] ?? [];
  expect([Number(correlation), Number(beta)].map((figure) => figure.toFixed(12))).toEqual(
    [whole.correlation, whole.beta].map((figure) => figure.toFixed(12)),
  );
  expect(Number(observations)).toBe(whole.count);
  const windows = times.map((_, place) => {
    const window = figuresOf(pairs.slice(Math.max(0, place - 11), place + 1));
    return window.count === 12 ? window : null;
  });
  const betas = windows.map((window) => window?.beta ?? null);
  await expectColumns(`rolling_correlation(${names}, periods => 12)`, {
    correlation: [windows.map((window) => window?.correlation ?? null), () => 1e6],
    beta: [betas, (place) => 1e6 * Math.max(1, Math.abs(betas[place] ?? 0))],
  });
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

it('derived candles, filled hours, and prices at longer intervals', async () => {
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
  const closes = new Map(candles.map(({ timeMs, close }) => [timeMs, close]));
  let last: string | null = null;
  const filled = Array.from({ length: hours }, (_, hour) => {
    const close = closes.get(at(hour)) ?? null;
    last = isCovered(hour) ? (close ?? last) : null;
    return [last ?? '-', close === null && isCovered(hour) ? 't' : 'f', isCovered(hour) ? '1' : '0'];
  });
  expect(
    await query(`select close, filled, coverage from ohlcv('x', 'year', 'tether', 'h1', gap_fill => true)`),
  ).toEqual(filled);
});

it('values as they were known at a time', async () => {
  const { database } = store;
  // Every fifth hour changed in February, every eighth in March.
  const change = (every: number, seen: string, close: string) =>
    database.pool.query(
      `insert into tidemark.point_revisions (series_id, time, seen_at, before)
       select series_id, time, $2::timestamptz, jsonb_build_object('open', open, 'high', high, 'low', low, 'close', $3::numeric, 'volume', volume, 'price_usd', $3::numeric)
       from (select series_id, time, open, high, low, volume from tidemark.candle_points
             union all select series_id, time, null, null, null, null from tidemark.asset_history_points) p
       where mod(extract(epoch from time)::bigint / 3600, $1) = 0`,
      [every, seen, close],
    );
  await change(5, '2025-02-01Z', '7.10');
  await change(8, '2025-03-01Z', '8.20');
  const isNth = (timeMs: EpochMs, every: number) => (timeMs / hourMs) % every === 0;
  for (const [known, february, march] of [
    ['2025-01-15Z', true, true],
    ['2025-02-01Z', false, true],
    ['2025-03-01Z', false, false],
  ] as const) {
    const then = (timeMs: EpochMs, now: string) =>
      february && isNth(timeMs, 5) ? '7.10' : march && isNth(timeMs, 8) ? '8.20' : now;
    const calls = {
      'x year/tether': `candles_as_known_at('x', 'year', 'tether', 'h1'`,
      year: `history_as_known_at('year', 'h1'`,
    };
    for (const [series, call] of Object.entries(calls)) {
      const name = series === 'year' ? 'price_usd' : 'close';
      const wanted = (lines[series] ?? []).map(({ timeMs, text }) =>
        text === null ? null : then(timeMs, text),
      );
      expect(await column(name, `${call}, '${known}')`)).toEqual(wanted);
    }
    const days = groupBy(candles, ({ timeMs }) => timeMs - (timeMs % dayMs));
    const closes = [...days].map(([, ofDay]) => {
      const { timeMs = 0, close = '' } = ofDay.at(-1) ?? {};
      return then(timeMs, close);
    });
    expect(
      await column(
        'close',
        `candles_as_known_at('x', 'year', 'tether', 'd1', '${known}') where close is not null`,
      ),
    ).toEqual(closes);
  }
});

it('every function is compared with its definition over a year, here or in the test that its name leads to', () => {
  const folder = new URL('.', import.meta.url);
  const texts = readdirSync(folder)
    .filter((name) => /^(year|buckets|joins)\.test\.ts$/.test(name))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('');
  const functions = new Set(
    derivedObjects(false).flatMap(({ name }) => /^public\.(\w+)\(text/.exec(name)?.[1] ?? []),
  );
  // They give no values, or are the others: `prices` is below every function of a price, `candles` below `ohlcv`.
  for (const name of ['intervals_of', 'chart_interval', 'coverage_share', 'prices', 'candles'])
    functions.delete(name);
  const missing = [...functions].filter((name) => !new RegExp(`\\b${name}\\b`).test(texts));
  expect(missing).toEqual([]);
});
