/** Perpetuals of Bybit and OKX: recorded answers digit by digit, requests, and rows and answers that are refused. */

import { describe, expect, test } from 'vitest';
import type { MarketDataset } from '../../../model/datasets/index.ts';
import { dayMs, type Interval, type Range } from '../../../model/intervals.ts';
import { pointAt } from '../../../model/point-lines.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { describeRecordings, recording, recordingFile } from '../../recordings.ts';
import { failureOf } from '../failure-at.ts';
import { venueAt } from './venue-at.ts';

type Name = 'bybit-linear' | 'okx-swap' | 'okx-swap-data';

const always: Range = { startMs: 0, endMs: Date.UTC(2030, 0, 1) };

function asked(dataset: MarketDataset, interval: Interval, symbol: string, range: Range = always) {
  const market = { exchange: 'venue', baseId: 'BTC', quoteId: 'USDT:USDT' };
  return { ...({ dataset, interval, ...market } as SeriesKey), ...range, symbol };
}

/** Points as the time and the values in the order of the columns, and why rows are refused. */
async function read(name: Name, body: unknown, dataset: MarketDataset, interval: Interval, symbol: string) {
  const { source } = await venueAt(name, body);
  const { rows, rejected, known } = await source.points(asked(dataset, interval, symbol));
  const points = rows.timesMs.map((timeMs, place) => [timeMs, ...pointAt(rows, place).values].join(' '));
  return { points, reasons: rejected.map(({ reason }) => reason), known };
}

const offGrid = (interval: Interval) => `does not start a period of ${interval}`;

const exchanged =
  'its volume in the quote asset over that in the base asset is not between low and high; the two columns seem exchanged';
const disputed = 'another row of the same period has other values';

/** Of a recording, what it is the answer to, its points, and why its other rows are refused. */
const recorded: ReadonlyArray<
  readonly [
    file: string,
    name: Name,
    dataset: MarketDataset,
    interval: Interval,
    symbol: string,
    points: string[],
    reasons: string[],
  ]
> = [
  [
    // Of an inverse contract: its volume is in dollars.
    ...(['bybit-kline.json', 'bybit-linear', 'candles', 'h1', 'BTCUSD'] as const),
    [],
    [exchanged, exchanged, exchanged],
  ],
  [
    ...(['bybit-mark-price-kline.json', 'bybit-linear', 'mark_candles', 'm1', 'BTCUSDT'] as const),
    ['1670608800000 17164.16 17164.16 17121.5 17131.64'],
    [],
  ],
  [
    ...(['bybit-index-price-kline.json', 'bybit-linear', 'index_candles', 'm1', 'BTCUSDZ22'] as const),
    ['1670608800000 17167.00 17167.00 17161.90 17163.07', '1670608740000 17166.54 17167.69 17165.42 17167.00'],
    [],
  ],
  [
    // The first one opens below its low.
    ...(['bybit-premium-index-price-kline.json', 'bybit-linear', 'premium_candles', 'd1', 'BTCUSDT'] as const),
    ['1652486400000 -0.000587 -0.000344 -0.000480 -0.000344', '1652400000000 -0.000989 -0.000561 -0.000587 -0.000587'],
    [],
  ],
  [
    ...(['bybit-funding-history.json', 'bybit-linear', 'funding_rates', 'h1', 'ETHPERP'] as const),
    ['1672041600000 0.0001   0'],
    [],
  ],
  [
    ...(['bybit-open-interest.json', 'bybit-linear', 'open_interest', 'd1', 'BTCUSD'] as const),
    [
      ...['1780963200000 31955346 ', '1780876800000 31955346 ', '1780790400000 31955346 '],
      ...['1780704000000 31971156 ', '1780617600000 31971156 '],
    ],
    [],
  ],
  [
    ...(['bybit-account-ratio.json', 'bybit-linear', 'long_short_ratios', 'h1', 'BTCUSDT'] as const),
    ['1696262400000  0.49 0.51   ', '1696258800000  0.4927 0.5073   '],
    [],
  ],
  [
    ...(['okx-funding-rate-history.json', 'okx-swap', 'funding_rates', 'h1', 'BTC-USDT-SWAP'] as const),
    ['1788480000000 0.0000418741079605   0'],
    [],
  ],
  [
    // What was paid is not what was predicted.
    ...(['okx-funding-rate-history-2023.json', 'okx-swap', 'funding_rates', 'h1', 'BTC-USD-SWAP'] as const),
    ['1703059200000 0.0000746572360545   0', '1703030400000 0.0002279755647389   0'],
    [],
  ],
  [
    ...(['okx-open-interest-history.json', 'okx-swap-data', 'open_interest', 'm5', 'BTC-USDT-SWAP'] as const),
    ['1701417600000 111 '],
    [offGrid('m5')],
  ],
  [
    // The form of one currency, which is that of a contract.
    ...(['okx-long-short-account-ratio.json', 'okx-swap-data', 'long_short_ratios', 'm5', 'BTC-USDT-SWAP'] as const),
    ['1630502100000 1.25     '],
    [],
  ],
  [
    ...(['okx-long-short-account-ratio-contract.json', 'okx-swap-data', 'long_short_ratios', 'm5'] as const),
    'BTC-USDT-SWAP',
    [],
    [disputed, disputed],
  ],
];

describeRecordings('recorded answers of perpetuals: every digit survives', () => {
  test.each(recorded)('%s', async (file, name, dataset, interval, symbol, points, reasons) => {
    const text = recordingFile(`derivatives/${file}`).replace('"inverse"', '"linear"');
    expect(await read(name, text, dataset, interval, symbol)).toMatchObject({ points, reasons });
  });

  test.each([
    ['okx-mark-price-candles.json', 'mark_candles'],
    ['okx-index-candles.json', 'index_candles'],
  ] as const)('%s: refused at no full minute, read at one; the first is open', async (file, dataset) => {
    const text = recordingFile(`derivatives/${file}`);
    expect(await read('okx-swap', text, dataset, 'm1', 'BTC-USDT-SWAP')).toMatchObject({
      points: [],
      reasons: [offGrid('m1'), offGrid('m1')],
    });
    const onGrid = text.replace('1597026383085', '1597026420000').replace('1597026383085', '1597026360000');
    expect(await read('okx-swap', onGrid, dataset, 'm1', 'BTC-USDT-SWAP')).toEqual({
      points: ['1597026420000 3.721 3.743 3.677 3.708', '1597026360000 3.731 3.799 3.494 3.72'],
      reasons: [],
      known: { untilMs: 1597026420000, missing: [] },
    });
  });

  test('bybit-linear: a candle, refused at no full minute', async () => {
    const text = recording('sources/bybit-v5-kline-linear-BTCUSDT');
    const answers = [text, text.replace('1709891679000', '1709891640000')].map((body) =>
      read('bybit-linear', body, 'candles', 'm1', 'BTCUSDT'),
    );
    expect(await Promise.all(answers)).toMatchObject([
      { points: [], reasons: [offGrid('m1')] },
      { points: ['1709891640000 27450 27460 27440 27455 123.45'], reasons: [] },
    ]);
  });

  test('okx-swap: of candles the volume in the base asset, not that in contracts', async () => {
    const text = recording('sources/okx-candles-m1-20250512');
    const { points } = await read('okx-swap', text, 'candles', 'm1', 'BTC-USDT-SWAP');
    const { data }: { data: string[][] } = JSON.parse(text);
    expect(points).toEqual(data.map((row) => [...row.slice(0, 5), row[6]].join(' ')));
    expect(data[0]?.[5]).not.toBe(data[0]?.[6]);
  });

  test.each([
    ['bybit-instruments-info-linear.json', 'bybit-linear', 1585526400000, ['BTCUSDT BTC USDT:USDT true null']],
    [
      ...(['okx-instruments-SWAP-2022-05-13.json', 'okx-swap', 1611916828000] as const),
      [
        ...['BTC-USD-SWAP BTC USD:BTC true 100 USD', 'XRP-USD-SWAP XRP USD:XRP true 10 USD'],
        ...['BTC-USDT-SWAP BTC USDT:USDT true 0.01 BTC', 'ETH-USDT-SWAP ETH USDT:USDT true 0.1 ETH'],
      ],
    ],
    [
      ...(['okx-instruments-SWAP-2025.json', 'okx-swap-data', 1535424203000] as const),
      ['BTC-USD-SWAP BTC USD:BTC true 100 USD', 'ETH-USDT-SWAP ETH USDT:USDT true 0.1 ETH'],
    ],
  ] as const)('%s: the list of markets, with the size of a contract', async (file, name, listedMs, markets) => {
    const { source } = await venueAt(name, recordingFile(`derivatives/${file}`));
    const { rows, rejected } = await source.symbols();
    const written = rows.map(({ symbol, base, quote, isTrading, contract }) =>
      [symbol, base, quote, isTrading, contract === null ? 'null' : `${contract.size} ${contract.asset}`].join(' '),
    );
    expect([rejected, written]).toEqual([[], expect.arrayContaining([...markets])]);
    expect(rows[0]?.listedMs).toBe(listedMs);
  });
});

const ofBybit = (list: unknown, more: object = { category: 'linear', symbol: 'BTCUSDT' }) => ({
  ...{ retCode: 0, retMsg: 'OK', result: { ...more, list }, retExtInfo: {}, time: 0 },
});

describe('bybit-linear', () => {
  test('open interest of both sides never stands in for that of one', async () => {
    const both = { openInterest: '63910691.00000000', timestamp: '1780963200000' };
    const one = { ...both, singleOpenInterest: '31955346', timestamp: '1780876800000' };
    expect(await read('bybit-linear', ofBybit([both, one]), 'open_interest', 'd1', 'BTCUSDT')).toMatchObject({
      points: ['1780876800000 31955346 '],
      reasons: ['no singleOpenInterest: openInterest counts both sides'],
    });
  });

  const event = { symbol: 'ETHUSDT', fundingRate: '0.0001', fundingRateTimestamp: '1672041600000' };
  const shares = { symbol: 'ETHUSDT', buyRatio: '0.5', sellRatio: '0.5', timestamp: '1672041600000' };
  test.each([
    ['mark_candles', ofBybit([], { category: 'linear', symbol: 'ETHUSDT' }), '"linear ETHUSDT"'],
    ['open_interest', ofBybit([], { category: 'inverse', symbol: 'BTCUSDT' }), '"inverse BTCUSDT"'],
    ['funding_rates', ofBybit([event], { category: 'linear' }), '"linear ETHUSDT"'],
    ['long_short_ratios', ofBybit([shares], {}), '"linear ETHUSDT"'],
  ] as const)('%s of another market are refused', async (dataset, body, other) => {
    const { source } = await venueAt('bybit-linear', body);
    const error = await failureOf(source, (it) => it.points(asked(dataset, 'h1', 'BTCUSDT')));
    expect([error.kind, error.message]).toEqual([
      'unexpected',
      expect.stringContaining(`of another market: ${other} instead of BTCUSDT`),
    ]);
  });

  test.each([
    [999, 'cursor', 999],
    [1000, '', 1000],
    [1000, 'cursor', 'unexpected'],
  ])('a list of %i markets and the cursor %j: %s', async (count, nextPageCursor, expected) => {
    const market = { baseCoin: 'A', quoteCoin: 'USDT', settleCoin: 'USDT', contractType: 'LinearPerpetual' };
    const list = Array.from({ length: count }, (_, place) => ({ ...market, symbol: `A${place}USDT` }));
    const { source } = await venueAt('bybit-linear', ofBybit(list, { category: 'linear', nextPageCursor }));
    const got = await source.symbols().then(
      ({ rows }) => rows.length,
      ({ kind }) => kind,
    );
    expect(got).toBe(expected);
  });
});

const startMs = Date.UTC(2026, 0, 1);
const [before, end, last] = [startMs - 1, startMs + dayMs, startMs + dayMs - 1];
const bybitRange = `&start=${startMs}&end=${last}&limit=1000`;
const bybitTimes = `&startTime=${startMs}&endTime=${last}`;

test.each([
  [
    'bybit-linear',
    'mark_candles',
    'm5',
    `/v5/market/mark-price-kline?category=linear&symbol=S&interval=5${bybitRange}`,
  ],
  [
    'bybit-linear',
    'index_candles',
    'h1',
    `/v5/market/index-price-kline?category=linear&symbol=S&interval=60${bybitRange}`,
  ],
  [
    ...(['bybit-linear', 'premium_candles', 'd1'] as const),
    `/v5/market/premium-index-price-kline?category=linear&symbol=S&interval=D${bybitRange}`,
  ],
  ['bybit-linear', 'funding_rates', 'h1', `/v5/market/funding/history?category=linear&symbol=S${bybitTimes}&limit=200`],
  [
    ...(['bybit-linear', 'open_interest', 'm5'] as const),
    `/v5/market/open-interest?category=linear&symbol=S&intervalTime=5min${bybitTimes}&limit=200`,
  ],
  [
    ...(['bybit-linear', 'long_short_ratios', 'h4'] as const),
    `/v5/market/account-ratio?category=linear&symbol=S&period=4h${bybitTimes}&limit=500`,
  ],
  [
    ...(['okx-swap', 'mark_candles', 'h12'] as const),
    `/api/v5/market/history-mark-price-candles?instId=BTC-USD_UM-SWAP&bar=12Hutc&before=${before}&after=${end}&limit=100`,
  ],
  [
    ...(['okx-swap', 'index_candles', 'm1'] as const),
    `/api/v5/market/history-index-candles?instId=BTC-USD&bar=1m&before=${before}&after=${end}&limit=100`,
  ],
  [
    ...(['okx-swap', 'funding_rates', 'h1'] as const),
    `/api/v5/public/funding-rate-history?instId=BTC-USD_UM-SWAP&before=${before}&after=${end}&limit=400`,
  ],
  [
    ...(['okx-swap-data', 'open_interest', 'd1'] as const),
    `/api/v5/rubik/stat/contracts/open-interest-history?instId=BTC-USD_UM-SWAP&period=1Dutc&begin=${before}&end=${last}&limit=100`,
  ],
  [
    ...(['okx-swap-data', 'long_short_ratios', 'h4'] as const),
    `/api/v5/rubik/stat/contracts/long-short-account-ratio-contract?instId=BTC-USD_UM-SWAP&period=4H&begin=${before}&end=${last}&limit=100`,
  ],
] as const)('%s requests %s of %s', async (name, dataset, interval, path) => {
  const { server, source } = await venueAt(name, '[]');
  const symbol = name === 'bybit-linear' ? 'S' : 'BTC-USD_UM-SWAP';
  await failureOf(source, (it) => it.points(asked(dataset, interval, symbol, { startMs, endMs: end })));
  expect(server.requests.map(({ url }) => url)).toEqual([path]);
});
