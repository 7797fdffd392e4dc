import { beforeAll, expect, it } from 'vitest';
import type { MarketDataset } from '../../../model/datasets/index.ts';
import { hourMs, type Interval, minuteMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { timestamp } from '../../../store/db/values.ts';
import { useStore } from '../../store/open-store.ts';
import { ask, rowsIn, storeLine } from './price-line.ts';

const store = useStore();
const rows = (sql: string) => rowsIn(store)(sql);
const startMs = Date.UTC(2024, 0, 1);
const hour = (index: number) => timestamp(startMs + index * hourMs);
const key = (dataset: MarketDataset, interval: Interval, quoteId = 'tether:tether') =>
  ({ dataset, exchange: 'x', baseId: 'a', quoteId, interval }) as SeriesKey;

/** Hour, rate in units of 10^-8, stated hours, mark price in cents. The event of hour 24 is missing. */
const events: ReadonlyArray<readonly [hour: number, rate: bigint, hours: number | null, mark: bigint | null]> = [
  [0, 10_000n, 8, 4_000_000n],
  [8, -2_500n, 8, null],
  [16, 7n, null, 4_100_050n],
  [32, 12_345n, 8, 3_999_999n],
  [36, 1n, 4, null],
];
/** Close of the candle of the mark price that ended at the event of hour 8, in cents. */
const markAt8 = 4_012_345n;
/** Open interest from hour 7 on. The one of hour 9 has a value, and one is not known. */
const openAmounts = ['5', '7', '11', null, '13', '17', '19', '23', '29'];

beforeAll(async () => {
  const endMs = startMs + 40 * hourMs;
  const none = { startMs, endMs, prices: [] };
  const covered = [
    [0, 17],
    [25, 40],
  ] as const;
  const funding = await storeLine(store.database, { ...none, key: key('funding_rates', 'h1'), covered });
  for (const [index, rate, hours, mark] of events)
    await store.database.pool.query(
      `insert into tidemark.funding_rate_points (series_id, time, rate, interval_hours, mark_price)
       values ($1, $2, $3::numeric / 1e8::numeric, $4, $5::numeric / 100)`,
      [funding, hour(index), String(rate), hours, mark === null ? null : String(mark)],
    );
  // Minutes around the event of hour 8: the one that begins with it was not known then.
  const marks = await storeLine(store.database, { ...none, key: key('mark_candles', 'm1') });
  for (const [minute, cents] of [
    [478, 1n],
    [479, markAt8],
    [480, 9_999_999n],
  ] as const)
    await store.database.pool.query(
      `insert into tidemark.mark_candle_points
       select $1, $2, p, p, p, p from (select $3::numeric / 100 as p) c`,
      [marks, timestamp(startMs + minute * minuteMs), String(cents)],
    );
  await storeLine(store.database, {
    ...{ key: key('mark_candles', 'h1'), startMs, endMs, prices: ['1', null, null, null, null, null, null, '2', null] },
  });
  await store.database.pool.query(
    `insert into tidemark.mark_candle_points select id, '2024-01-01 09:00Z', 42000, 42000, 42000, 42000
     from tidemark.series where dataset = 'mark_candles' and interval = 'h1'`,
  );
  const open = await storeLine(store.database, {
    ...{ key: key('open_interest', 'h1'), startMs: startMs + 7 * hourMs, endMs, prices: openAmounts },
    covered: [
      [0, 3],
      [4, 33],
    ],
  });
  await store.database.pool.query(
    `update tidemark.open_interest_points set value = case when time = $2 then 123.45 end where series_id = $1`,
    [open, hour(9)],
  );
  const closes = { startMs, endMs: startMs + 4 * hourMs };
  await storeLine(store.database, {
    ...closes,
    key: key('candles', 'h1'),
    prices: ['101', '102.5', null, '99'],
    covered: [
      [0, 2],
      [3, 4],
    ],
  });
  await storeLine(store.database, {
    ...closes,
    key: key('candles', 'h1', 'tether'),
    prices: ['100', '102.5', '103', '100'],
  });
  await storeLine(store.database, { ...closes, key: key('index_candles', 'h1'), prices: ['100.5', null, '103', '99'] });
});

const named = "'x', 'a', 'tether:tether'";
/** What a position of one unit paid, in units of 10^-10. */
const payments = events.map(([index, rate, , mark]) => {
  const price = mark ?? (index === 8 ? markAt8 : null);
  return price === null ? null : rate * price;
});
/** Without zeros at the end. */
const decimal = (units: bigint, digits: number) => {
  const text = (units < 0n ? -units : units).toString().padStart(digits + 1, '0');
  const plain = `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '');
  return units < 0n ? `-${plain}` : plain;
};

it('funding has the rate, the hours, the price known then, and the payment of each event', async () => {
  const found = await rows(
    `select extract(epoch from time - '2024-01-01Z')::int / 3600, trim_scale(rate), hours, trim_scale(annual_rate),
            trim_scale(mark_price), price_from, price_age, trim_scale(payment) from funding(${named})`,
  );
  // Hours that the source does not state are those since the event before.
  const hours = [8, 8, 8, 8, 4];
  expect(found).toEqual(
    events.map(([index, rate, , mark], place) => {
      const price = mark ?? (index === 8 ? markAt8 : null);
      const annual = decimal((rate * 8760n) / BigInt(hours[place] ?? 1), 8);
      const paid = payments[place] ?? null;
      return [
        index,
        decimal(rate, 8),
        hours[place],
        annual,
        price === null
          ? '- | - | -'
          : `${decimal(price, 2)} | ${mark === null ? 'mark_candles | 00:00:00' : 'source | -'}`,
        paid === null ? '-' : decimal(paid, 10),
      ].join(' | ');
    }),
  );
});

it('funding states how much of the time since the event before is known', async () => {
  const found = await rows(`select coverage from funding(${named})`);
  // Of hours 16 to 33 eight are missing.
  expect(found).toEqual(['1', '1', '1', '0.529411', '1']);
});

it.each([
  ['all of it', '', 1n, [0, 1, 2, 3, 4]],
  ['a short position', ', quantity => -3', -3n, [0, 1, 2, 3, 4]],
  ['a half-open range', `, '2024-01-01 08:00Z', '2024-01-01 16:00Z'`, 1n, [1]],
] as const)('funding_paid is the sum of the payments: %s', async (_, more, quantity, places) => {
  const known = places.flatMap((place) => payments[place] ?? []);
  const sum = known.reduce((total, one) => total + one, 0n) * quantity;
  const [found] = await rows(
    `select trim_scale(paid), events, from_candles, without_price from funding_paid(${named}${more})`,
  );
  // Event 1 has the price of a candle.
  expect(found).toBe([decimal(sum, 10), places.length, 1, places.length - known.length].join(' | '));
});

it('says nothing of what is not known: no hours across a gap, no sum of nothing, and no coverage of one side alone', async () => {
  const key36 = `update tidemark.funding_rate_points set interval_hours = $1 where time = '2024-01-02 08:00Z'`;
  await store.database.pool.query(key36, [null]);
  const across = `select hours, annual_rate from funding(${named}, '2024-01-02 08:00Z', '2024-01-02 09:00Z')`;
  expect(await rows(across)).toEqual(['- | -']);
  await store.database.pool.query(key36, [8]);
  const paid = (from: string, to: string) =>
    rows(`select paid, events, without_price, coverage from funding_paid(${named}, '${from}', '${to}')`);
  expect(await paid('2024-01-01 18:00Z', '2024-01-01 20:00Z')).toEqual(['- | 0 | 0 | 0']);
  expect(await paid('2024-01-01 09:00Z', '2024-01-01 12:00Z')).toEqual(['0 | 0 | 0 | 1']);
  expect(await paid('2024-01-02 12:00Z', '2024-01-02 13:00Z')).toEqual(['- | 1 | 1 | 1']);
  const longer = { ...key('candles', 'h1', 'longer') };
  await storeLine(store.database, {
    key: longer,
    startMs,
    endMs: startMs + 6 * hourMs,
    prices: ['1', '1', '1', '1', '1', '1'],
  });
  const last = await rows(
    `select price, spot, coverage from basis(${named}, 'longer', 'h1') where time >= '2024-01-01 04:00Z'`,
  );
  expect(last).toEqual(['- | 1 | 0', '- | 1 | 0']);
});

it('funding_panel has a row of each market at the time of an event of any', async () => {
  const end = 40;
  const second = await storeLine(store.database, {
    ...{ key: { ...key('funding_rates', 'h1'), exchange: 'y' } as SeriesKey, startMs, endMs: startMs + end * hourMs },
    ...{ prices: [], covered: [[0, end]] },
  });
  // Every four hours, of which the source states none.
  const others = Array.from({ length: end / 4 }, (_, place) => 4 * place);
  await store.database.pool.query(
    `insert into tidemark.funding_rate_points (series_id, time, rate)
     select $1, '2024-01-01Z'::timestamptz + make_interval(hours => h), h * 0.0001::numeric from unnest($2::int[]) h`,
    [second, others],
  );
  const own = new Map(events.map((event) => [event[0], event]));
  const isKnown = (hour: number) => hour < 17 || hour >= 25;
  const expected = others.flatMap((at) => {
    const [, rate = 0n, stated] = own.get(at) ?? [];
    // Of hours 16 to 33 eight are missing. The event of hour 16 states no hours.
    const first = own.has(at)
      ? [decimal(rate, 8), stated ?? 8, decimal((rate * 8760n) / BigInt(stated ?? 8), 8), at === 32 ? '0.529411' : '1']
      : ['-', '-', '-', isKnown(at) ? '1' : '0'];
    const four = at === 0 ? ['0', '-', '-', '1'] : [decimal(BigInt(at), 4), 4, decimal(BigInt(at * 2190), 4), '1'];
    return [first, four].map((row, place) => [at, place === 0 ? 'x' : 'y', ...row].join(' | '));
  });
  const asked = `array['x a/tether:tether', 'y a/tether:tether h1 funding', 'x a/tether:tether']`;
  const found = await rows(
    `select extract(epoch from time - '2024-01-01Z')::int / 3600, left(name, 1), trim_scale(rate), hours,
            trim_scale(annual_rate), coverage from funding_panel(${asked})`,
  );
  expect(found).toEqual(expected);
  const wide = await rows(
    `select trim_scale((rates ->> 'x a/tether:tether')::numeric), (annual_rates ->> 'y a/tether:tether h1 funding')::numeric, complete
     from funding_panel_wide(${asked}, '2024-01-01 20:00Z', '2024-01-02 09:00Z')`,
  );
  expect(wide).toEqual(['- | 4.38 | f', '- | 5.256 | f', '- | 6.132 | t', '0.00012345 | 7.008 | f']);
  const { notices } = await ask(store.url, `select * from funding_panel(${asked}, to_time => '2024-01-02 09:00Z')`);
  expect(notices).toEqual([expect.stringMatching(/^75\.75 % of /)]);
  await expect(rows(`select * from funding_panel(array['a'])`)).rejects.toThrow('a market is written as');
});

it('says where no price is known which candles to track', async () => {
  const bare = { startMs, endMs: startMs + hourMs, prices: ['1'] };
  for (const dataset of ['funding_rates', 'open_interest'] as const)
    await storeLine(store.database, { ...bare, key: { ...key(dataset, 'h1'), baseId: 'bare' } as SeriesKey });
  await store.database.pool.query(`
    update tidemark.funding_rate_points set mark_price = null
    where series_id = (select id from tidemark.series where dataset = 'funding_rates' and base_id = 'bare');
    update tidemark.open_interest_points set value = null
    where series_id = (select id from tidemark.series where dataset = 'open_interest' and base_id = 'bare')`);
  const notices = async (call: string) => (await ask(store.url, `select * from ${call}`)).notices;
  const said = 'the mark price of x bare/tether:tether is not tracked; tidemark backfill mark-candles adds it';
  for (const name of ['funding_paid', 'open_interest_value']) {
    expect(await notices(`${name}('x', 'bare', 'tether:tether')`)).toEqual([said]);
    expect(await notices(`${name}('x', 'a', 'tether:tether')`)).not.toContainEqual(
      expect.stringContaining('mark price'),
    );
  }
});

it('basis takes the spot market of another exchange', async () => {
  await storeLine(store.database, {
    ...{ key: { ...key('candles', 'h1', 'euro'), exchange: 'y' } as SeriesKey, startMs, endMs: startMs + 4 * hourMs },
    prices: ['10', null, '11', '12'],
  });
  const found = rows(`select price, spot, index_price from basis(${named}, 'euro', 'h1', spot_exchange => 'y')`);
  expect(await found).toEqual(['101 | 10 | 100.5', '102.5 | - | -', '- | 11 | 103', '99 | 12 | 99']);
});

it('basis compares no prices of an open period', async () => {
  const nowMs = Math.floor(Date.now() / hourMs) * hourMs;
  const line = { startMs: nowMs - 3 * hourMs, endMs: null };
  const of = (dataset: MarketDataset, quote: string) => ({ ...key(dataset, 'h1', quote), baseId: 'open' }) as SeriesKey;
  await storeLine(store.database, { ...line, key: of('candles', 'q:q'), prices: ['100', '101', '102', '103'] });
  await storeLine(store.database, { ...line, key: of('candles', 'q'), prices: ['80', '80', '80', '80'] });
  await storeLine(store.database, { ...line, key: of('index_candles', 'q:q'), prices: ['80', '80', '80', '80'] });
  const found = await rows(
    `select price, spot, trim_scale(basis), trim_scale(basis_share), trim_scale(index_share)
     from basis('x', 'open', 'q:q', 'q', 'h1', to_time => now() + interval '1 hour')`,
  );
  expect([found.at(0), found.at(-1)]).toEqual(['100 | 80 | 20 | 0.25 | 0.25', '103 | 80 | - | - | -']);
});

it.each([
  ['tether', 'tether', 'a perpetual or future before the spot market, and "tether" is a spot market'],
  ['tether:tether', 'tether:tether', 'a spot market after the perpetual or future, and "tether:tether" is a perpetual'],
  ['tether', 'tether:tether', 'a perpetual or future before the spot market, and "tether" is a spot market'],
])('basis refuses %s beside %s', async (quote, spot, said) => {
  await expect(rows(`select * from basis('x', 'a', '${quote}', '${spot}', 'h1')`)).rejects.toThrow(said);
});

it('funding of an inverse contract is paid in its base asset, for an amount of the quote', async () => {
  const inverse = { ...key('funding_rates', 'h1', 'usd:coin'), baseId: 'coin' } as SeriesKey;
  const id = await storeLine(store.database, { key: inverse, startMs, endMs: startMs + 24 * hourMs, prices: [] });
  await store.database.pool.query(
    `insert into tidemark.funding_rate_points (series_id, time, rate, interval_hours, mark_price)
     values ($1, $2, 0.0001, 8, 40000), ($1, $3, -0.00005, 8, 50000), ($1, $4, 0.0001, 8, 30000)`,
    [id, hour(0), hour(8), hour(16)],
  );
  const named = `'x', 'coin', 'usd:coin'`;
  // By hand: 100 contracts of 100 dollars are worth 0.25 coins at 40000, which paid 0.0001 of them.
  expect(
    await rows(`select trim_scale(payment * 10000) from funding(${named}, to_time => '2024-01-01 16:00Z')`),
  ).toEqual(['0.000025', '-0.00001']);
  const paid = (quantity: string) =>
    rows(`select trim_scale(round(paid, 20)), paid_in from funding_paid(${named}, quantity => ${quantity})`);
  // The third: a third of a coin at 30000, of which 0.0001.
  expect(await paid('100 * 100')).toEqual(['0.00004833333333333333 | coin']);
  expect(await paid('-100 * 100')).toEqual(['-0.00004833333333333333 | coin']);
  expect((await rows(`select paid_in from funding_paid('x', 'a', 'tether:tether')`))[0]).toBe('tether');
});

it('funding of a series that is followed is known up to its newest event, until the next one is due', async () => {
  const nowMs = Math.floor(Date.now() / hourMs) * hourMs;
  const [first, newest] = [nowMs - 11 * hourMs, nowMs - 3 * hourMs];
  const seriesId = await storeLine(store.database, {
    ...{ key: { ...key('funding_rates', 'h1'), baseId: 'followed' } as SeriesKey, startMs: first, endMs: null },
    ...{ prices: ['1', null, null, null, null, null, null, null, '1'], covered: [[0, 9]] },
  });
  await store.database.pool.query(`update tidemark.series set newest = $2, due_at = $3 where id = $1`, [
    ...[seriesId, timestamp(newest), timestamp(newest + 8 * hourMs)],
  ]);
  await storeLine(store.database, {
    ...{ key: { ...key('funding_rates', 'h1'), baseId: 'hourly' } as SeriesKey, startMs: nowMs - hourMs, endMs: null },
    prices: ['1'],
  });
  const coverage = () => rows(`select coverage, events from funding_paid('x', 'followed', 'tether:tether')`);
  const beside = () =>
    rows(`select rate, coverage from funding_panel(array['x followed/tether:tether', 'x hourly/tether:tether'],
                                                   now() - interval '2 hours') where name like '%followed%'`);
  expect(await coverage()).toEqual(['1 | 2']);
  expect(await beside()).toEqual(['- | 1']);
  // The next one is late.
  await store.database.pool.query(`update tidemark.series set due_at = $2 where id = $1`, [
    seriesId,
    timestamp(nowMs - hourMs),
  ]);
  // In the first two minutes of an hour the one before has not closed.
  expect((await coverage())[0]).toMatch(/^0\.(8\d+|9) \| 2$/);
  expect(await beside()).toEqual(['- | 0']);
});

it('funding_paid says that events may be missing', async () => {
  expect(await rows(`select coverage from funding_paid(${named})`)).toEqual(['0.8']);
  expect(await rows(`select coverage from funding_paid(${named}, to_time => '2024-01-01 17:00Z')`)).toEqual(['1']);
});

it('basis compares closes of the same period, and is null where a side is not known', async () => {
  const found = await rows(
    `select extract(epoch from time - '2024-01-01Z')::int / 3600, price, spot, index_price, trim_scale(basis),
            trim_scale(basis_share), trim_scale(round(index_share, 12)), coverage from basis(${named}, 'tether', 'h1')`,
  );
  expect(found).toEqual([
    '0 | 101 | 100 | 100.5 | 1 | 0.01 | 0.004975124378 | 1',
    '1 | 102.5 | 102.5 | - | 0 | 0 | - | 1',
    '2 | - | 103 | 103 | - | - | - | 0',
    '3 | 99 | 100 | 99 | -1 | -0.01 | 0 | 1',
  ]);
  const withoutSpot = `select price, spot, index_price, basis, basis_share, trim_scale(round(index_share, 12)), coverage`;
  expect(await rows(`${withoutSpot} from basis(${named})`)).toEqual([
    '101 | - | 100.5 | - | - | 0.004975124378 | 1',
    '102.5 | - | - | - | - | - | 1',
    '- | - | 103 | - | - | - | 0',
    '99 | - | 99 | - | - | 0 | 1',
  ]);
  const lone = { ...key('candles', 'h1'), baseId: 'lone' } as SeriesKey;
  await storeLine(store.database, { key: lone, startMs, endMs: startMs + hourMs, prices: ['1'] });
  await expect(rows(`select * from basis('x', 'lone', 'tether:tether', 'tether')`)).rejects.toMatchObject({
    message: 'the spot market x lone/tether is not tracked',
    hint: 'without spot_quote, basis is that of the index alone',
  });
});

it.each([
  ['its default, an hour', '', 60],
  ['nothing, where the candle has to end then', `, max_age => '0'`, 0],
  ['half a day', `, max_age => '12 hours'`, 720],
])('open_interest_value is that of the source, else at a mark price no older than %s', async (_, more, oldest) => {
  // Known at minutes: those of the setup, and an hour that ends with one of them and one that ends later.
  const closes = new Map([
    [60, 100n],
    [479, 1n],
    [480, markAt8],
    [481, 9_999_999n],
    [600, 4_200_000n],
  ]);
  const found = await rows(
    `select extract(epoch from time - '2024-01-01Z')::int / 3600, amount, trim_scale(value), value_from,
            extract(epoch from price_age)::int / 60, coverage
     from open_interest_value(${named}, 'h1', '2024-01-01 07:00Z', '2024-01-01 16:00Z'${more})`,
  );
  expect(found).toEqual(
    openAmounts.map((amount, place) => {
      const hourOf = 7 + place;
      if (amount === null) return `${hourOf} | - | - | - | - | 0`;
      if (place === 2) return `${hourOf} | ${amount} | 123.45 | source | - | 1`;
      const [at, cents] = [...closes].findLast(([minute]) => minute <= hourOf * 60) ?? [];
      const age = hourOf * 60 - (at ?? -Infinity);
      const value =
        age <= oldest ? `${decimal(BigInt(amount) * (cents ?? 0n), 2)} | mark_candles | ${age}` : '- | - | -';
      return `${hourOf} | ${amount} | ${value} | 1`;
    }),
  );
});

it('open_interest_value is that of h1, or of the shortest interval that is stored', async () => {
  const usual = `select * from open_interest_value('x', 'interest', 'b:b')`;
  for (const interval of ['h4', 'm5', 'h1'] as const) {
    const line = { ...key('open_interest', interval, 'b:b'), baseId: 'interest' } as SeriesKey;
    await storeLine(store.database, { key: line, startMs, endMs: startMs + 4 * hourMs, prices: ['1'] });
    expect(await rows(usual)).toEqual(await rows(usual.replace("'b:b'", `'b:b', '${interval}'`)));
  }
});

it('takes the codes that a source has for a market', async () => {
  await store.database.pool.query(`
    insert into tidemark.source_symbols (source, symbol, base, quote, trading, seen_at)
    values ('x', 'AT', 'A', 'T', true, now()), ('x', 'ATP', 'A', 'T:T', true, now());
    update tidemark.series_sources
    set source = 'x', symbol = case s.quote_id when 'tether' then 'AT' else 'ATP' end
    from tidemark.series s where s.id = series_id and s.base_id = 'a' and s.quote_id in ('tether', 'tether:tether')`);
  for (const [name, rest] of [
    ['funding', ''],
    ['funding_paid', ''],
    ['open_interest_value', `, 'h1', '2024-01-01 06:00Z'`],
    ['basis', `, 'tether'`],
    ['funding_rates_as_known_at', `, 'h1', now()`],
  ] as const)
    expect(await rows(`select * from ${name}('x', 'A', 'T:T'${rest.replace('tether', 'T')})`), name).toEqual(
      await rows(`select * from ${name}(${named}${rest})`),
    );
});
