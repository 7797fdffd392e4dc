import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';
import * as doubles from './by-doubles.ts';
import { market } from './candles.ts';
import { ask, numbersOf, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const count = 250;

/** Prices that go up and down, with the source's digits and trailing zeros. */
function prices(turn: number): string[] {
  let price = 100;
  return Array.from({ length: count }, (_, place) => {
    price *= 1 + ((((place + 1) * 7919 * turn) % 101) - 50) / 1000;
    return price.toFixed(10 + (place % 3) * 3);
  });
}

/** Wilder's example as widely published, and its first values to two digits. */
const published = {
  prices: [
    '44.3389',
    '44.0902',
    '44.1497',
    '43.6124',
    '44.3278',
    '44.8264',
    '45.0955',
    '45.4245',
    '45.8433',
    '46.0826',
    '45.8931',
    '46.0328',
    '45.6140',
    '46.2820',
    '46.2820',
    '46.0028',
    '46.0328',
    '46.4116',
    '46.2222',
    '45.6439',
  ],
  rsi: ['70.53', '66.32', '66.55', '69.41', '66.36', '57.97'],
};

function expectClose(exact: doubles.Figures, double: doubles.Figures): void {
  expect(exact).toHaveLength(double.length);
  for (const [place, value] of double.entries()) {
    if (value === null) expect([place, exact[place]]).toEqual([place, null]);
    else expect(Math.abs((exact[place] ?? Number.NaN) - value)).toBeLessThan(1e-9 * Math.abs(value) + 1e-12);
  }
}

onEachDatabase('indicators', (kind) => {
  let store: TestStore;
  const a = prices(1);
  const b = prices(3);
  const aNumbers = a.map(Number);
  const bNumbers = b.map(Number);
  beforeAll(async () => {
    store = await openTestStore(kind);
    const days = (key: Parameters<typeof storeLine>[1]['key'], line: readonly (string | null)[]) =>
      storeLine(store.database, {
        key,
        startMs,
        endMs: startMs + line.length * dayMs,
        prices: line,
        covered: line.flatMap((price, day) => (price === null ? [] : [[day, day + 1] as const])),
      });
    await days(market('a', 'd1'), a);
    await days(market('b', 'd1'), b);
    await days({ dataset: 'asset_history', assetId: 'coin', interval: 'd1' }, a);
    await days(market('wilder', 'd1'), published.prices);
    await days(
      market('flat', 'd1'),
      Array.from({ length: 20 }, () => '7.00'),
    );
    await days(market('torn', 'd1'), [...b.slice(0, 100), null, ...b.slice(101)]);
  });
  afterAll(() => store.close());
  const figures = (column: string, call: string) => numbersOf(store.url, `select ${column} from ${call}`);

  it('computes returns', async () => {
    expectClose(await figures('log_return', `returns('x a/tether')`), doubles.logReturns(aNumbers));
    expectClose(
      await figures('simple_return', `returns('x a/tether')`),
      doubles.logReturns(aNumbers).map((value) => (value === null ? null : Math.expm1(value))),
    );
  });

  it('computes the same of an asset as of a market', async () => {
    for (const name of [
      'returns',
      'volatility',
      'drawdown',
      'sma',
      'ema',
      'rsi',
      'bollinger',
      'maximum_drawdown',
    ]) {
      const of = (series: string) => ask(store.url, `select * from ${name}('${series}')`);
      expect(await of('coin')).toEqual(await of('x a/tether'));
    }
  });

  it('computes volatility from a full window of log returns, a year of 365 days', async () => {
    expectClose(
      await figures('volatility', `volatility('x a/tether', periods => 30)`),
      doubles.rolling(
        doubles.logReturns(aNumbers),
        30,
        (window) => doubles.sampleDeviation(window) * Math.sqrt(365),
      ),
    );
  });

  it('computes volatility, correlation and beta of minutes to the last digits', async () => {
    const minutes = (base: string, line: readonly string[]) =>
      storeLine(store.database, {
        key: market(base, 'm1'),
        startMs,
        endMs: startMs + line.length * minuteMs,
        prices: line,
      });
    await minutes('long', ['30000.01', '30000.03', '29999.98', '30000.02', '30000.05']);
    await minutes('short', ['2000.017', '2000.019', '2000.013', '2000.014', '2000.018']);
    // From logarithms to sixty digits.
    for (const [figure, call, expected] of [
      [
        'volatility',
        `volatility('x long/tether', 'm1', periods => 4)`,
        '0.000986576309376612737567746334755825',
      ],
      [
        'correlation',
        `correlation('x long/tether', 'x short/tether', 'm1')`,
        '0.919873510463319988742656862715459920',
      ],
      [
        'beta',
        `correlation('x long/tether', 'x short/tether', 'm1')`,
        '0.575628516984097773093050154331794375',
      ],
    ] as const) {
      const { rows } = await ask(
        store.url,
        `select abs(${figure} - ${expected}) < 3e-16 from ${call} where ${figure} is not null`,
      );
      expect([figure, ...rows]).toEqual([figure, 't']);
    }
  });

  it('computes averages and bands as TA-Lib seeds them', async () => {
    expectClose(
      await figures('sma', `sma('x a/tether', periods => 7)`),
      doubles.rolling(aNumbers, 7, doubles.mean),
    );
    expectClose(await figures('ema', `ema('x a/tether', periods => 9)`), doubles.ema(aNumbers, 9));
    expectClose(await figures('ema', `ema('x a/tether', periods => 1)`), aNumbers);
    const band = (side: number) =>
      doubles.rolling(
        aNumbers,
        20,
        (window) => doubles.mean(window) + side * 1.5 * doubles.populationDeviation(window),
      );
    for (const [column, side] of [
      ['lower_band', -1],
      ['middle_band', 0],
      ['upper_band', 1],
    ] as const) {
      expectClose(
        await figures(column, `bollinger('x a/tether', periods => 20, deviations => 1.5)`),
        band(side),
      );
    }
    const rows = await ask(
      store.url,
      `select abs(percent_b - (price - lower_band) / (upper_band - lower_band)) < 1e-10,
                abs(bandwidth - (upper_band - lower_band) / middle_band) < 1e-10
         from bollinger('x a/tether') where middle_band is not null`,
    );
    expect(new Set(rows.rows)).toEqual(new Set(['t | t']));
  });

  it('computes the relative strength index by Wilder, as published', async () => {
    const { rows } = await ask(
      store.url,
      `select round(rsi, 2) from rsi('x wilder/tether') where rsi is not null`,
    );
    expect(rows).toEqual(published.rsi);
    expectClose(await figures('rsi', `rsi('x a/tether', periods => 14)`), doubles.rsi(aNumbers, 14));
    expect(await figures('rsi', `rsi('x flat/tether', periods => 3)`)).toEqual(
      Array.from({ length: 20 }, () => null),
    );
  });

  it('offers ema and rsi over any column, in several partitions at once', async () => {
    const { rows } = await ask(
      store.url,
      `select base, time, ema(close, 5) over w, rsi(close, 5) over w from candles
         where exchange = 'x' and base in ('a', 'b') and interval = 'd1'
         window w as (partition by base order by time) order by base, time`,
    );
    const single = async (base: string) =>
      (
        await ask(
          store.url,
          `select '${base}', time, ema, rsi from ema('x ${base}/tether', periods => 5)
             join rsi('x ${base}/tether', periods => 5) using (time) order by time`,
        )
      ).rows;
    expect(rows).toEqual([...(await single('a')), ...(await single('b'))]);
  });

  it('bounds the digits that an average carries', async () => {
    const { rows } = await ask(
      store.url,
      `with long as (select n, sin(n)::numeric + 1.00000000000000000000000000000000000001 as value from generate_series(1, 3000) n),
              steps as (select n, ema(value, 7) over (order by n) as e, rsi(value, 7) over (order by n) as r from long)
         select max(scale(e)), max(scale(r)), (select max(scale(s)) from unnest(tidemark.ema_step(array[7, 1 / 3.0, 7], 0.1, 7)) s)
         from steps`,
    );
    expect(rows).toEqual(['16 | 16 | 32']);
  });

  it.each([0, 28, 33, 300])('computes ema and rsi of prices of 1e-%i', async (size) => {
    const of = (column: string) =>
      numbersOf(
        store.url,
        `with line as (select price * 1e-${size} as price, time from prices('x a/tether'))
           select ${column} from (
             select time, ema(price, 9) over (order by time), rsi(price, 14) over (order by time) from line
           ) averages order by time`,
      );
    expectClose(await of(`ema / 1e-${size}`), doubles.ema(aNumbers, 9));
    expectClose(await of('rsi'), doubles.rsi(aNumbers, 14));
  });

  it('keeps the relative strength index while no price changes', async () => {
    const { rows } = await ask(
      store.url,
      `select rsi from (
           select n, rsi(case when n > 5 then 7 else n * n % 7 end, 3) over (order by n) from generate_series(1, 4000) n
         ) long where n in (6, 4000)`,
    );
    expect(new Set(rows)).toHaveLength(1);
    expect(rows).toHaveLength(2);
  });

  it('computes drawdowns, and the deepest with its peak, trough and recovery', async () => {
    let peak = 0;
    const falls = aNumbers.map((price) => {
      peak = Math.max(peak, price);
      return price / peak - 1;
    });
    const exact = await figures('drawdown', `drawdown('x a/tether')`);
    for (const [place, fall] of falls.entries()) expect(exact[place]).toBeCloseTo(fall, 9);
    let deepest = 0;
    const sofar = falls.map((fall) => {
      deepest = Math.min(deepest, fall);
      return deepest;
    });
    const maxima = await figures('maximum_drawdown', `drawdown('x a/tether')`);
    for (const [place, fall] of sofar.entries()) expect(maxima[place]).toBeCloseTo(fall, 9);

    const trough = falls.indexOf(deepest);
    const top = aNumbers.lastIndexOf(Math.max(...aNumbers.slice(0, trough + 1)), trough);
    const recovered = aNumbers.findIndex(
      (price, place) => place > trough && price >= (aNumbers[top] ?? Number.NaN),
    );
    const day = (place: number) =>
      place < 0 ? '-' : new Date(startMs + place * dayMs).toISOString().slice(0, 10);
    const { rows } = await ask(
      store.url,
      'select peak_time::date, peak_price, trough_time::date, trough_price, recovered_time::date, coverage ' +
        `from maximum_drawdown('x a/tether')`,
      'UTC',
    );
    expect(rows).toEqual([`${day(top)} | ${a[top]} | ${day(trough)} | ${a[trough]} | ${day(recovered)} | 1`]);
  });

  it('computes correlation and beta, overall and rolling', async () => {
    const x = doubles.logReturns(aNumbers).slice(1).map(Number);
    const y = doubles.logReturns(bNumbers).slice(1).map(Number);
    const expected = doubles.correlation(x, y);
    const call = `correlation('x a/tether', 'x b/tether')`;
    const [correlation, beta, observations] =
      (await ask(store.url, `select * from ${call}`)).rows[0]?.split(' | ') ?? [];
    expect(Number(correlation)).toBeCloseTo(expected.correlation, 9);
    expect(Number(beta)).toBeCloseTo(expected.beta, 9);
    expect(observations).toBe(String(count - 1));
    const rolled = await figures(
      'correlation',
      `rolling_correlation('x a/tether', 'x b/tether', periods => 20)`,
    );
    const betas = await figures('beta', `rolling_correlation('x a/tether', 'x b/tether', periods => 20)`);
    expect(rolled.filter((value) => value === null)).toHaveLength(20);
    for (let place = 20; place < count; place++) {
      const window = doubles.correlation(x.slice(place - 20, place), y.slice(place - 20, place));
      expect(rolled[place]).toBeCloseTo(window.correlation, 9);
      expect(betas[place]).toBeCloseTo(window.beta, 9);
    }
    expect(
      (await ask(store.url, `select correlation, beta from correlation('x a/tether', 'coin')`)).rows,
    ).toEqual(['1.0000000000000000 | 1.0000000000000000']);
  });

  it('breaks every chain at a gap, and restarts after it', async () => {
    const null_ = (values: doubles.Figures) =>
      values.flatMap((value, place) => (value === null ? [place] : []));
    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, place) => from + place);
    const torn = `'x torn/tether'`;
    expect(null_(await figures('log_return', `returns(${torn})`))).toEqual([0, 100, 101]);
    expect(null_(await figures('volatility', `volatility(${torn}, periods => 5)`))).toEqual([
      ...range(0, 5),
      ...range(100, 106),
    ]);
    expect(null_(await figures('sma', `sma(${torn}, periods => 5)`))).toEqual([
      ...range(0, 4),
      ...range(100, 105),
    ]);
    expect(null_(await figures('rsi', `rsi(${torn}, periods => 5)`))).toEqual([
      ...range(0, 5),
      ...range(100, 106),
    ]);
    const ema = await figures('ema', `ema(${torn}, periods => 5)`);
    expectClose(ema.slice(101), doubles.ema(bNumbers.slice(101), 5));
    const rolled = await figures('correlation', `rolling_correlation('x a/tether', ${torn}, periods => 5)`);
    expect(null_(rolled)).toEqual([...range(0, 5), ...range(100, 106)]);
    expect(
      (await ask(store.url, `select observations from correlation('x a/tether', ${torn})`)).rows,
    ).toEqual([String(count - 3)]);
    expect(
      (await ask(store.url, `select count(drawdown), min(coverage) from drawdown(${torn})`)).rows,
    ).toEqual([`${count - 1} | 0`]);
  });

  it('takes no return across a gap of one series where the other had no trade', async () => {
    const x = ['10', '11', '12', '11', '13', null, '15', '14', '16', '15'];
    const y = ['20', '21', '23', '22', '24', null, '27', '25', '26', '28'];
    for (const [base, line, covered] of [
      [
        'open',
        x,
        [
          [0, 5],
          [6, 10],
        ],
      ],
      ['quiet', y, [[0, 10]]],
    ] as const)
      await storeLine(store.database, {
        key: market(base, 'h1'),
        ...{ startMs, endMs: startMs + line.length * hourMs, prices: line, covered },
      });
    const pair = `'x open/tether', 'x quiet/tether', 'h1'`;
    const known = (line: readonly (string | null)[]) =>
      line.flatMap((price, place) => {
        const before = line[place - 1] ?? null;
        return price === null || before === null ? [] : [Math.log(Number(price) / Number(before))];
      });
    const [correlation, observations] = (
      await ask(store.url, `select correlation, observations from correlation(${pair})`)
    ).rows[0]?.split(' | ') ?? ['', ''];
    expect(Number(correlation)).toBeCloseTo(doubles.correlation(known(x), known(y)).correlation, 12);
    expect(observations).toBe('7');
    const rolled = await ask(
      store.url,
      `select to_char(time, 'HH24') from rolling_correlation(${pair}, periods => 2) where correlation is null`,
      'UTC',
    );
    // At 05:00 the second one has no row. The windows of the two hours after it lack the return across the gap.
    expect(rolled.rows).toEqual(['00', '01', '06', '07']);
  });

  it('keeps sixteen decimals of a return, however large', async () => {
    const { rows } = await ask(
      store.url,
      'select tidemark.simple_return(55, 0.00019), tidemark.simple_return(1e42, 13)',
    );
    // 55 / 0.00019 - 1 and 1e42 / 13 - 1 by long division.
    expect(rows).toEqual([
      '289472.6842105263157895 | 76923076923076923076923076923076923076922.0769230769230769',
    ]);
  });

  it('refuses empty windows', async () => {
    for (const call of ['sma', 'ema', 'rsi', 'bollinger']) {
      await expect(ask(store.url, `select * from ${call}('coin', periods => 0)`)).rejects.toThrow(
        /periods must be 1 or more/,
      );
    }
    for (const deviations of ['-1', `'NaN'`, `'infinity'`, 'null']) {
      await expect(
        ask(store.url, `select * from bollinger('coin', deviations => ${deviations})`),
      ).rejects.toThrow(/deviations must be 0 or more/);
    }
    await expect(ask(store.url, `select * from volatility('coin', periods => 1)`)).rejects.toThrow(
      /2 or more/,
    );
    await expect(ask(store.url, `select ema(1.0, 0) over ()`)).rejects.toThrow(/1 or more/);
  });
});
