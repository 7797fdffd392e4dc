import { beforeAll, describe, expect, it } from 'vitest';
import { dayMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { openOwnStore, useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { ask, perpetuals, rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);

const store = useStore();
const day = { startMs, endMs: startMs + dayMs };
const eightHours = { ...market('bitcoin', 'h8'), exchange: 'binance' };
beforeAll(async () => {
  for (const names of [{}, { baseId: 'bitcoin-cash' }, { exchange: 'kraken', quoteId: 'euro' }])
    await storeLine(store.database, { key: { ...eightHours, ...names }, ...day, prices: ['1', '2', '3'] });
  const history = { dataset: 'asset_history', assetId: 'ethereum', interval: 'd1' } as const;
  await storeLine(store.database, { key: history, ...day, prices: ['1'] });
  for (const { dataset } of perpetuals) {
    const key = { ...eightHours, dataset, quoteId: 'tether:tether', interval: 'h1' } as SeriesKey;
    await storeLine(store.database, { key, ...day, prices: ['1'] });
  }
  await store.database.pool.query(
    `insert into tidemark.currencies (currency, symbol, type) values ('bitcoin', 'BTC', 'crypto'), ('euro', 'EUR', 'fiat')`,
  );
});

describe('unknown names are refused with suggestions', () => {
  it.each([
    [`ohlcv('binanse', 'bitcoin', 'tether')`, 'unknown exchange "binanse"', 'did you mean "binance"?'],
    [`ohlcv('kc', 'bitcoin', 'tether')`, 'unknown exchange "kc"', 'nothing known is near; known: binance, kraken'],
    [`ohlcv(null, 'bitcoin', 'tether')`, 'exchange must be given, and is null', 'known: binance, kraken'],
    [`ohlcv('binance', 'bitconi', 'tether')`, 'unknown base "bitconi"', 'did you mean "bitcoin"?'],
    // Names that only another exchange has are not suggested.
    [`ohlcv('kraken', 'bitcoin', 'dollar')`, 'unknown quote "dollar"', 'nothing known is near; known: euro'],
    [`ohlcv('kraken', 'bitcoincash', 'euro')`, 'unknown base "bitcoincash"', 'nothing known is near; known: bitcoin'],
    [`ohlcv('binance', 'btc', 'tether')`, 'unknown base "btc"', 'did you mean "bitcoin"?'],
    [
      `ohlcv('binance', 'bitcoin', 'euro')`,
      'no market bitcoin/euro is tracked on binance',
      'tracked: binance bitcoin/tether, kraken bitcoin/euro',
    ],
    // Twelve hours are not a multiple of eight.
    [
      `ohlcv('binance', 'bitcoin', 'tether', 'h12')`,
      'the candles of binance bitcoin/tether are not tracked at h12, and do not follow from finer ones',
      'tracked: h8; from these follow: d1, w1',
    ],
    [
      `price_history('bitcoin')`,
      'unknown asset "bitcoin": its history is not tracked, though it is the base of a market',
      'nothing known is near; known: ethereum',
    ],
    [
      `price_history('ethereum', 'h1')`,
      'the price history of ethereum is not tracked at h1',
      'tracked: d1; from these follow: none',
    ],
    [
      `price_history('ethereum', 'h8')`,
      'no price history has the interval "h8"',
      'it is one of m1, m5, m15, m30, h1, h2, h6, h12, d1',
    ],
    [`intervals_of('binance bitcoin/tehter')`, 'unknown quote "tehter"', 'did you mean "tether"?'],
    [`rsi('bitcoin/tether')`, 'a series is a market or an asset, not "bitcoin/tether"', `'binance bitcoin/tether'`],
    [`seasonality_by_hour('etherium')`, 'unknown asset "etherium"', 'did you mean "ethereum"?'],
    // No point is at that time, so no other part of the function is executed.
    [
      `candles('binance', 'bitconi', 'tether', 'h8') where time > '2100-01-01'`,
      'unknown base "bitconi"',
      'did you mean "bitcoin"?',
    ],
    [
      `tidemark.series_id('binance', 'bitcoin', 'tether', 'd1')`,
      'binance bitcoin/tether has no series at d1: those candles are derived',
      `tidemark.series_id('binance', 'bitcoin', 'tether', 'h8') is the series that they are derived from`,
    ],
    [
      `prices_asof(array['binance bitconi/tether'], array[now()], 'h8')`,
      'unknown base "bitconi"',
      'did you mean "bitcoin"?',
    ],
    [`correlations(array['ethereum', 'etherium'])`, 'unknown asset "etherium"', 'did you mean "ethereum"?'],
    [`correlation_matrix(null)`, 'series must be given, and is null', 'binance bitcoin/tether'],
    [`returns_panel(null)`, 'series must be given, and is null', 'binance bitcoin/tether'],
    [`rolling('etherium')`, 'unknown asset "etherium"', 'did you mean "ethereum"?'],
    [`volume_bars('binance', 'bitconi', 'tether', 5, 'h8')`, 'unknown base "bitconi"', 'did you mean "bitcoin"?'],
    [`dollar_bars('binanse', 'bitcoin', 'tether', 5)`, 'unknown exchange "binanse"', 'did you mean "binance"?'],
    [`prices_asof(null, '{}')`, 'series must be given, and is null', 'binance bitcoin/tether'],
    [`history_as_known_at('etherium', 'd1', now())`, 'unknown asset "etherium"', '"ethereum"'],
    ...[
      ...perpetuals.map(({ dataset, knownAt }) => [dataset, knownAt, `'h1', now()`] as const),
      ...['funding', 'funding_paid'].map((name) => ['funding_rates', name, 'null'] as const),
      ['open_interest', 'open_interest_value', `'h1'`] as const,
    ].flatMap(([dataset, name, rest]) => [
      [
        `${name}('kraken', 'bitcoin', 'tether:tether', ${rest})`,
        `unknown exchange "kraken" in ${dataset}`,
        'nothing known is near; known: binance',
      ],
      [
        `${name}('binance', 'bitconi', 'tether:tether', ${rest})`,
        `unknown base "bitconi" in ${dataset}`,
        'did you mean "bitcoin"?',
      ],
      [`${name}('binance', null, 'tether:tether', ${rest})`, 'base must be given, and is null', 'known: bitcoin'],
      [
        `${name}('binance', 'bitcoin', 'Tether', ${rest})`,
        `unknown quote "Tether" in ${dataset}`,
        'did you mean "tether:tether"?',
      ],
    ]),
    [`funding_panel(array['binance bitconi/tether:tether'])`, 'unknown base "bitconi" in funding_rates', '"bitcoin"'],
    [`funding_panel(null)`, 'series must be given, and is null', 'binance bitcoin/tether:tether'],
    [`basis('binance', 'bitcoin', 'tether:tether', 'euro')`, 'unknown quote "tether:tether"', 'known: '],
    [
      `mark_candles_as_known_at('binance', 'bitcoin', 'tether:tether', 'm1', now())`,
      'binance bitcoin/tether:tether is not tracked at m1 in mark_candles',
      'tracked: h1',
    ],
  ])('%s', async (call, message, hint) => {
    const error = await ask(store.url, `select * from ${call}`).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message, hint: expect.stringContaining(hint) });
  });

  it.each([
    ...['aligned', 'aligned_wide', 'returns_panel', 'returns_panel_wide', 'correlations', 'correlation_matrix'],
    ...['funding_panel', 'funding_panel_wide', 'prices_asof'],
  ])('%s refuses an array without series', async (name) => {
    const more = name === 'prices_asof' ? ', array[now()]' : '';
    for (const [series, message, code] of [
      [`'{}'`, 'series must be given, and is an empty array', '22023'],
      ['null', 'series must be given, and is null', '22004'],
    ]) {
      const error = await ask(store.url, `select * from ${name}(${series}${more})`).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ message, code, hint: expect.stringContaining('binance bitcoin/tether') });
    }
  });
});

it('what is untracked and has no point is not said to be tracked', async () => {
  const own = await openOwnStore();
  const funding = { ...eightHours, dataset: 'funding_rates', quoteId: 'tether:tether', interval: 'h1' } as SeriesKey;
  const history = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' } as const;
  for (const key of [eightHours, funding, history]) await storeLine(own.database, { key, ...day, prices: [] });
  await own.database.pool.query('update tidemark.series set untracked_at = now()');
  for (const [call, what] of [
    [`ohlcv('binance', 'bitcoin', 'tether', 'h8')`, 'exchange "binance": nothing is tracked'],
    [`funding('binance', 'bitcoin', 'tether:tether')`, 'exchange "binance": nothing is tracked in funding_rates'],
    [`price_history('bitcoin')`, 'asset "bitcoin": nothing is tracked'],
  ])
    await expect(rowsIn(own)(`select * from ${call}`)).rejects.toThrow(new RegExp(`^unknown ${what}$`));
});

it('unknown names are told from the codes of a source that stand for ids', async () => {
  const own = await openOwnStore();
  await storeLine(own.database, { key: eightHours, ...day, prices: ['1', '2', '3'] });
  await own.database.pool.query(`
    insert into tidemark.asset_aliases (source, code, asset)
    values ('', 'BTC', 'bitcoin'), ('', 'XBT', 'bitcoin'), ('', 'USDT', 'tether');
    insert into tidemark.source_symbols (source, symbol, base, quote, trading, seen_at)
    values ('binance', 'BTCUSDT', 'BTC', 'USDT', true, now());
    update tidemark.series_sources set source = 'binance', symbol = 'BTCUSDT'`);
  const closes = (names: string) => rowsIn(own)(`select close from candles('binance', ${names}, 'h8')`);
  for (const [names, message, hint] of [
    [`'BTC', 'USDTX'`, 'unknown quote "USDTX"', 'did you mean "USDT"?'],
    [`'BTCX', 'USDT'`, 'unknown base "BTCX"', 'did you mean "BTC"?'],
    [`'XBT', 'USDTX'`, 'unknown quote "USDTX"', 'did you mean "USDT"?'],
    [
      `'btcusdt', 'USDT'`,
      'unknown base "btcusdt": it is the symbol of a market',
      "BTCUSDT of binance is 'bitcoin', 'tether'",
    ],
  ] as const)
    await expect(closes(names)).rejects.toMatchObject({ message, hint });
  await own.database.pool.query(`update tidemark.series_sources set source = 'binance-us'`);
  await expect(rowsIn(own)(`select * from ohlcv('binance-us', 'bitcoin', 'tether')`)).rejects.toMatchObject({
    message: 'unknown exchange "binance-us": it is a source',
    hint: 'its series are of the exchange binance',
  });
  await own.database.pool.query(`update tidemark.series_sources set source = 'binance'`);
  for (const names of ["'BTC', 'USDT'", "'BTC', 'tether'"]) expect(await closes(names)).toHaveLength(3);

  // Each part of a quote has its names; markets settled otherwise are other markets.
  await expect(closes(`'bitcoin', 'tether:tether'`)).rejects.toMatchObject({
    message: 'unknown quote "tether:tether"',
  });
  for (const [quoteId, price] of [
    ['tether:tether', '4'],
    ['tether:tether-261225', '5'],
  ] as const)
    await storeLine(own.database, { key: { ...eightHours, quoteId }, ...day, prices: [price, price, price] });
  for (const [quote, close] of [
    ['USDT:USDT', '4'],
    ['tether:USDT', '4'],
    ['USDT:USDT-261225', '5'],
    ['USDT', '3'],
  ] as const) {
    expect((await closes(`'XBT', '${quote}'`)).at(-1)).toBe(close);
    const intervals = await rowsIn(own)(`select interval_name from intervals_of('binance BTC/${quote}')`);
    expect(intervals[0]).toBe('h8');
  }
  // Suggested are the codes of each part or the ids, never one of each.
  const funding = { ...eightHours, dataset: 'funding_rates', quoteId: 'tether:tether', interval: 'h1' } as SeriesKey;
  await storeLine(own.database, { key: funding, ...day, prices: ['1'] });
  for (const [quote, hint] of [
    ['USDT', 'did you mean "USDT:USDT"?'],
    ['EUR', 'nothing known is near; known: USDT:USDT, tether:tether'],
  ])
    await expect(rowsIn(own)(`select * from funding('binance', 'BTC', '${quote}')`)).rejects.toMatchObject({ hint });
  // A market that is stored by ids and by codes.
  await storeLine(own.database, { key: { ...eightHours, baseId: 'XBT' }, ...day, prices: ['6'] });
  await expect(rowsIn(own)(`select * from candles('binance', 'bitcoin', 'tether', 'm1')`)).rejects.toThrow(
    /^the candles of binance \w+\/tether are not tracked at m1/,
  );
  await own.database.pool.query(`
    insert into tidemark.source_symbols (source, symbol, base, quote, trading, seen_at)
    values ('binance', 'BTCUSDT_261225', 'BTC', 'USDT:USDT-261225', true, now())`);
  expect(await rowsIn(own)(`select quote_id from source_markets where symbol = 'BTCUSDT_261225'`)).toEqual([
    'tether:tether-261225',
  ]);
  // Neither of its names has a point or is tracked.
  await own.database.pool.query('update tidemark.series set untracked_at = now(), points = 0');
  for (const call of ["ohlcv_by('binance', 'XBT', 'tether', '1 hour')", "candles('binance', 'XBT', 'tether', 'h8')"])
    await expect(rowsIn(own)(`select * from ${call}`)).rejects.toThrow(/not tracked|nothing is tracked|unknown/);
});

it('unknown names are distinguished from an empty store', async () => {
  const empty = await openOwnStore();
  for (const call of [`ohlcv('binance', 'bitcoin', 'tether')`, `price_history('bitcoin')`])
    await expect(ask(empty.url, `select * from ${call}`)).rejects.toThrow(/: nothing is tracked$/);
});
