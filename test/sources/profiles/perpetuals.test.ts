/** Perpetuals: recorded answers and files digit by digit, requests, and rows that are refused. */

import { createHash } from 'node:crypto';
import { zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import type { MarketDataset } from '../../../model/datasets/index.ts';
import { dayMs, hourMs, type Interval, type Range } from '../../../model/intervals.ts';
import { pointAt } from '../../../model/point-lines.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { profiles } from '../../../sources/profiles/profiles.ts';
import { describeRecordings, recordingFile } from '../../recordings.ts';
import { failureOf } from '../failure-at.ts';
import { serve, sourceAt } from '../local-server.ts';
import { venueAt } from './venue-at.ts';

const always: Range = { startMs: 0, endMs: Date.UTC(2030, 0, 1) };

function asked(dataset: MarketDataset, interval: Interval, range: Range, symbol = 'BTCUSDT') {
  const market = { exchange: 'binance', baseId: 'BTC', quoteId: 'USDT:USDT' };
  return { ...({ dataset, interval, ...market } as SeriesKey), ...range, symbol };
}

const written = (answer: { rows: Parameters<typeof pointAt>[0] }) =>
  answer.rows.timesMs.map((timeMs, place) => [timeMs, ...pointAt(answer.rows, place).values].join(' '));

async function read(
  ...[name, body, dataset, interval, range = always, symbol]: readonly [
    ...[name: string, body: unknown, dataset: MarketDataset, interval: Interval, range?: Range, symbol?: string],
  ]
) {
  const { source } = await venueAt(name, body);
  const answer = await source.points(asked(dataset, interval, range, symbol));
  return { ...answer, written: written(answer) };
}

/** Bodies of recordings, and their points: the time, and the values in the order of the columns. */
const recorded: ReadonlyArray<readonly [file: string, source: string, MarketDataset, Interval, points: string[]]> = [
  // The volume in bitcoin, which is 206 contracts.
  [
    ...(['binance-cm-klines.json', 'binance-coinm', 'candles', 'm1'] as const),
    ['1591258320000 9640.7 9642.4 9640.6 9642.0 2.13660389'],
  ],
  [
    ...(['binance-cm-fundingRate.json', 'binance-coinm', 'funding_rates', 'h1'] as const),
    ['1698768000000 -0.00300000  34651.40000000 0', '1698796800000 -0.00300000  34651.40000000 0'],
  ],
  [
    ...(['binance-um-klines.json', 'binance-usdm', 'candles', 'w1'] as const),
    ['1499040000000 0.01634790 0.80000000 0.01575800 0.01577100 148976.11427815'],
  ],
  [
    ...(['binance-um-markPriceKlines.json', 'binance-usdm', 'mark_candles', 'm1'] as const),
    ['1591256460000 9653.29201333 9654.56401333 9653.07367333 9653.07367333'],
  ],
  [
    ...(['binance-um-premiumIndexKlines.json', 'binance-usdm', 'premium_candles', 'm1'] as const),
    ['1691603820000 -0.00042931 -0.00023641 -0.00059406 -0.00043659'],
  ],
  [
    ...(['binance-um-fundingRate.json', 'binance-usdm-funding', 'funding_rates', 'h1'] as const),
    ['1698768000000 0.00010000  34287.54619963 0', '1698796800000 0.00010000  34651.40000000 0'],
  ],
  [
    ...(['binance-um-fundingRate-empty-mark.json', 'binance-usdm-funding', 'funding_rates', 'h1'] as const),
    ['1568102400000 0.00010000   0'],
  ],
  [
    ...(['binance-um-openInterestHist.json', 'binance-usdm-data', 'open_interest', 'm5'] as const),
    ['1583127900000 20403.63700000 150570784.07809979', '1583128200000 20401.36700000 149940752.14464448'],
  ],
  [
    ...(['binance-um-globalLongShortAccountRatio.json', 'binance-usdm-data', 'long_short_ratios', 'm5'] as const),
    ['1583139600000 0.1960 0.6622 0.3378   ', '1583139900000 1.9559 0.6617 0.3382   '],
  ],
];

describeRecordings('recorded answers of perpetuals: every digit survives', () => {
  test.each(recorded)('%s', async (file, source, dataset, interval, points) => {
    const answer = await read(source, recordingFile(`derivatives/${file}`), dataset, interval);
    expect([answer.rejected, answer.written]).toEqual([[], points]);
  });

  test('a negative rate, a millisecond late', async () => {
    const text = recordingFile('derivatives/binance-um-fundingRate-negative.json');
    const rows: { fundingTime: number; fundingRate: string; markPrice: string }[] = JSON.parse(text);
    const answer = await read('binance-usdm-funding', text, 'funding_rates', 'h1');
    expect(answer.written).toEqual(
      rows.map(({ fundingTime, fundingRate, markPrice }) => {
        const delay = fundingTime % hourMs;
        return [fundingTime - delay, fundingRate, '', markPrice, delay].join(' ');
      }),
    );
    expect(rows.some(({ fundingRate, fundingTime }) => fundingRate.startsWith('-') && fundingTime % hourMs > 0)).toBe(
      true,
    );
  });

  test('the error of too many rows', async () => {
    const body = recordingFile('derivatives/binance-um-error-fundingRate-limit.json');
    const { source } = await venueAt('binance-usdm-funding', body, { status: 400 });
    const error = await failureOf(source, (it) => it.points(asked('funding_rates', 'h1', always)));
    expect([error.kind, error.message]).toEqual([
      'refused',
      expect.stringContaining('limit can not greater than 1000'),
    ]);
  });

  test('a range that is older than 30 days is lacked by the source, and not requested in parts', async () => {
    const body = { code: -1130, msg: "parameter 'startTime' is invalid." };
    const { source } = await venueAt('binance-usdm-data', body, { status: 400 });
    const error = await failureOf(source, (it) => it.points(asked('open_interest', 'm5', always)));
    expect([error.kind, error.status]).toEqual(['incomplete', 400]);
  });

  test.each([
    [
      ...(['binance-usdm', 'um'] as const),
      [
        ...['BTCUSDT BTC USDT:USDT true ', 'BTCUSDT_210924 BTC USDT:USDT-210924 true '],
        ...['1000SHIBUSDT 1000SHIB USDT:USDT true ', 'BTCBUSD BTC BUSD:BUSD true '],
      ],
    ],
    [
      ...(['binance-coinm', 'cm'] as const),
      ['BTCUSD_PERP BTC USD:BTC true 100 USD', 'ETHUSD_211231 ETH USD:ETH-211231 true 10 USD'],
    ],
  ])('%s, the list of markets: perpetuals, multiples and dated futures', async (name, kind, markets) => {
    const { source } = await venueAt(name, recordingFile(`derivatives/binance-${kind}-exchangeInfo.json`));
    const { rows, rejected } = await source.symbols();
    expect(rejected).toEqual([]);
    expect(rows[0]?.listedMs).toBe(name === 'binance-coinm' ? 1597042800000 : 1569398400000);
    const contract = (of: (typeof rows)[number]['contract']) => of && `${of.size} ${of.asset}`;
    expect(
      rows.map((one) => [one.symbol, one.base, one.quote, one.isTrading, contract(one.contract)].join(' ')),
    ).toEqual(expect.arrayContaining(markets));
  });
});

/** A source at a file of the archive, with its checksum. */
async function fileAt(profile: string, csv: string, query: ReturnType<typeof asked>) {
  const setup = profiles[profile];
  if (setup === undefined) throw new Error(`no profile ${profile}`);
  const paths: string[] = [];
  const server = await serve((request, response) => {
    const path = request.url ?? '';
    paths.push(path);
    const name =
      path
        .split('/')
        .at(-1)
        ?.replace(/\.zip.*/, '') ?? '';
    const zip = Buffer.from(zipSync({ [`${name}.csv`]: Buffer.from(csv) }, { mtime: '2025-01-01' }));
    const sum = createHash('sha256').update(zip).digest('hex');
    response.writeHead(200).end(path.endsWith('.CHECKSUM') ? `${sum}  ${name}.zip\n` : zip);
  });
  const source = sourceAt(server.baseUrl.replace(/\/v2$/, ''), { profile: setup });
  const answer = await source.points(query);
  return { ...answer, written: written(answer), paths };
}

const day = (year: number, month: number, date = 1) => Date.UTC(year, month - 1, date);

const files: ReadonlyArray<
  readonly [file: string, MarketDataset, Interval, Range, path: string, place: (row: string[]) => (string | number)[]]
> = [
  [
    ...(['archive-um-markPriceKlines-REEFUSDT-1h-2025-01-22.csv', 'mark_candles', 'h1'] as const),
    ...([
      { startMs: day(2025, 1), endMs: day(2025, 2) },
      'monthly/markPriceKlines/REEFUSDT/1h/REEFUSDT-1h-2025-01',
    ] as const),
    (row) => row.slice(0, 5),
  ],
  [
    ...(['archive-um-indexPriceKlines-REEFUSDT-1h-2025-01-22.csv', 'index_candles', 'h1'] as const),
    ...([
      { startMs: day(2025, 1), endMs: day(2025, 2) },
      'monthly/indexPriceKlines/REEFUSDT/1h/REEFUSDT-1h-2025-01',
    ] as const),
    (row) => row.slice(0, 5),
  ],
  [
    ...(['archive-um-premiumIndexKlines-REEFUSDT-1h-2025-01-22-head.csv', 'premium_candles', 'h1'] as const),
    ...([
      { startMs: day(2025, 1), endMs: day(2025, 2) },
      'monthly/premiumIndexKlines/REEFUSDT/1h/REEFUSDT-1h-2025-01',
    ] as const),
    (row) => row.slice(0, 5),
  ],
  [
    ...(['archive-um-klines-REEFUSDT-1h-2025-01-22.csv', 'candles', 'h1'] as const),
    ...([{ startMs: day(2025, 1), endMs: day(2025, 2) }, 'monthly/klines/REEFUSDT/1h/REEFUSDT-1h-2025-01'] as const),
    (row) => row.slice(0, 6),
  ],
  [
    ...(['archive-um-fundingRate-REEFUSDT-2025-01.csv', 'funding_rates', 'h1'] as const),
    ...([
      { startMs: day(2025, 1), endMs: day(2025, 2) },
      'monthly/fundingRate/REEFUSDT/REEFUSDT-fundingRate-2025-01',
    ] as const),
    ([time = '', hours = '', rate = '']) => {
      const delay = Number(time) % hourMs;
      return [Number(time) - delay, rate, hours, '', delay];
    },
  ],
  [
    ...(['archive-um-metrics-BTCUSDT-2024-01-01.csv', 'open_interest', 'm5'] as const),
    ...([
      { startMs: day(2024, 1), endMs: day(2024, 1, 2) },
      'daily/metrics/REEFUSDT/REEFUSDT-metrics-2024-01-01',
    ] as const),
    ([time = '', , amount = '', value = '']) => [Date.parse(`${time}Z`), amount, value],
  ],
  [
    ...(['archive-um-metrics-BTCUSDT-2024-01-01.csv', 'long_short_ratios', 'm5'] as const),
    ...([
      { startMs: day(2024, 1), endMs: day(2024, 1, 2) },
      'daily/metrics/REEFUSDT/REEFUSDT-metrics-2024-01-01',
    ] as const),
    ([time = '', , , , accounts = '', positions = '', ratio = '', taker = '']) => [
      ...[Date.parse(`${time}Z`), ratio, '', '', accounts, positions, taker],
    ],
  ],
];

describeRecordings('recorded files of perpetuals: every digit survives', () => {
  test.each(files)('%s: %s', async (file, dataset, interval, range, path, place) => {
    const csv = recordingFile(`derivatives/${file}`);
    const profile = path.startsWith('daily') ? 'binance-usdm-archive-daily' : 'binance-usdm-archive';
    const answer = await fileAt(profile, csv, asked(dataset, interval, range, 'REEFUSDT'));
    expect(answer.paths).toEqual(['.zip.CHECKSUM', '.zip'].map((end) => `/data/futures/um/${path}${end}`));
    const rows = csv
      .trim()
      .split('\n')
      .filter((line) => /^\d/.test(line))
      .map((line) => line.trim().split(','));
    expect(rows.length).toBeGreaterThan(1);
    expect([answer.rejected, answer.written]).toEqual([[], rows.map((row) => place(row).join(' '))]);
    // The file without its header, and in another order.
    const lines = csv
      .trim()
      .split('\n')
      .filter((line) => /^\d/.test(line));
    const bare = await fileAt(profile, lines.toReversed().join('\n'), asked(dataset, interval, range, 'REEFUSDT'));
    expect([...bare.written].sort()).toEqual([...answer.written].sort());
  });
});

describe('files of statistics', () => {
  const range = { startMs: day(2024, 1), endMs: day(2024, 1, 2) };
  const line = (time: string, values = '1.0,2.0,,,,') => `${time},BTCUSDT,${values}`;
  const times = Array.from({ length: 288 }, (_, place) =>
    new Date(range.startMs + place * 300_000).toISOString().slice(0, 19).replace('T', ' '),
  );
  const metrics = (lines: readonly string[], dataset: MarketDataset = 'open_interest') =>
    fileAt('binance-usdm-archive-daily', lines.join('\r\n'), asked(dataset, 'm5', range));

  test.each([
    ['whole', times.map((time) => line(time)), 288, 0, 0],
    ['every row twice, in another order', [...times, ...times].reverse().map((time) => line(time)), 576, 0, 0],
    ['half of the day', times.slice(0, 144).map((time) => line(time)), 144, 0, 1],
    ['a row of zeros', times.map((time, at) => line(time, at === 7 ? '0,0E-16,,,,' : '1,2,,,,')), 287, 1, 1],
    [
      'two rows of a time that differ',
      [...times.map((time) => line(time)), line(times[9] ?? '', '3,2,,,,')],
      287,
      2,
      1,
    ],
    ['the first time of the next day', [...times.map((time) => line(time)), line('2024-01-02 00:00:00')], 288, 0, 0],
    ['a blank', times.map((time, at) => line(time, at === 7 ? ',,,,,' : '1,2,,,,')), 287, 1, 1],
  ] as const)('%s', async (_, lines, rows, rejected, holes) => {
    const answer = await metrics(lines);
    expect([answer.rows.length, answer.rejected.length, answer.known?.missing.length]).toEqual([rows, rejected, holes]);
  });

  test('a file without ratios has none of the requested time', async () => {
    await expect(
      metrics(
        times.map((time) => line(time)),
        'long_short_ratios',
      ),
    ).resolves.toMatchObject({ rows: { length: 0 } });
  });
});

test.each([
  ['another kind of rate beside the usual one', { rateType: 'Special' }, 'a rate of the type Special'],
  ['24 minutes late', { fundingTime: Date.UTC(2023, 4, 23, 8, 23, 53, 40) }, 'does not start a period of h1'],
  ['no rate', { fundingRate: '' }, expect.stringContaining('rate')],
])('a funding event with %s is rejected', async (_, more, reason) => {
  const event = { symbol: 'BTCUSDT', fundingTime: Date.UTC(2023, 4, 23), fundingRate: '0.0001', markPrice: '' };
  const answer = await read('binance-usdm-funding', [event, { ...event, ...more }], 'funding_rates', 'h1');
  expect([answer.rows.length, answer.rejected.map((row) => row.reason)]).toEqual([1, [reason]]);
});

test('binance-coinm: contracts of another kind, and volumes in another unit, are rejected', async () => {
  const [perpetual, quarter] = ['PERPETUAL', 'CURRENT_QUARTER'].map((contractType) => ({
    ...{ pair: 'BTCUSD', contractType, sumOpenInterest: '5578700', sumOpenInterestValue: '18265.009' },
    timestamp: Date.UTC(2026, 0, 1),
  }));
  const interest = await read('binance-coinm', [perpetual, quarter], 'open_interest', 'm5', always, 'BTCUSD_PERP');
  expect([interest.written, interest.rejected.map(({ reason }) => reason)]).toEqual([
    [`${Date.UTC(2026, 0, 1)} 18265.009 `],
    ['of the contracts CURRENT_QUARTER'],
  ]);
  const linear = [1591258320000, '9640.7', '9642.4', '9640.6', '9642.0', '2.13660389', 0, '20600.0', 1, '1', '1', '0'];
  const candles = await read('binance-coinm', [linear], 'candles', 'm1');
  expect(candles.rejected.map(({ reason }) => reason)).toEqual(['its volume is not in whole contracts']);
});

test('binance-coinm requests open interest of perpetuals alone, and at most 200 days of any candles', async () => {
  const { server, source } = await venueAt('binance-coinm', '[]');
  const range = { startMs: day(2026, 1), endMs: day(2026, 1) + dayMs };
  const interest = (symbol: string) =>
    source.points(asked('open_interest', 'm5', range, symbol)).catch(({ kind }) => kind);
  expect([await interest('BTCUSD_PERP'), await interest('BTCUSD_261225')]).toMatchObject([{ rejected: [] }, 'refused']);
  expect(server.requests.map(({ url }) => url)).toEqual([
    '/futures/data/openInterestHist?pair=BTCUSD&contractType=PERPETUAL&period=5m&' +
      `startTime=${range.startMs}&endTime=${range.endMs - 1}&limit=500`,
  ]);
  for (const { dataset, longestRangeMs } of profiles['binance-coinm']?.offers ?? [])
    if (/candles/.test(dataset)) expect(Math.max(...Object.values(longestRangeMs))).toBeLessThanOrEqual(200 * dayMs);
});

test.each([
  ['binance-usdm', 'mark_candles', 'm1', '/fapi/v1/markPriceKlines?symbol=BTCUSDT_261225&interval=1m'],
  ['binance-usdm', 'index_candles', 'm1', '/fapi/v1/indexPriceKlines?pair=BTCUSDT&interval=1m'],
  ['binance-usdm', 'premium_candles', 'm1', '/fapi/v1/premiumIndexKlines?symbol=BTCUSDT_261225&interval=1m'],
  ['binance-usdm-funding', 'funding_rates', 'h1', '/fapi/v1/fundingRate?symbol=BTCUSDT_261225'],
  ['binance-usdm-data', 'open_interest', 'm5', '/futures/data/openInterestHist?symbol=BTCUSDT_261225&period=5m'],
  [
    'binance-usdm-data',
    'long_short_ratios',
    'h4',
    '/futures/data/globalLongShortAccountRatio?symbol=BTCUSDT_261225&period=4h',
  ],
] as const)('%s requests %s of %s', async (name, dataset, interval, path) => {
  const { server, source } = await venueAt(name, '[]');
  const range = { startMs: day(2026, 1), endMs: day(2026, 1) + dayMs };
  await source.points(asked(dataset, interval, range, 'BTCUSDT_261225')).catch(() => null);
  const limit = { 'binance-usdm': 499, 'binance-usdm-funding': 1000, 'binance-usdm-data': 500 }[name];
  const query = `startTime=${range.startMs}&endTime=${range.endMs - 1}&limit=${limit}`;
  expect(server.requests.map(({ url }) => url)).toEqual([`${path}&${query}`]);
});
