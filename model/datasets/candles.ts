import type { Dataset } from '../dataset.ts';

/** Source: interface specification, section 4. */
export const candleIntervals = ['m1', 'm5', 'm15', 'm30', 'h1', 'h2', 'h4', 'h8', 'h12', 'd1', 'w1'] as const;
export type CandleInterval = (typeof candleIntervals)[number];

/** Prices in the quote, and the traded amount of the base. */
export const candles = {
  name: 'candles',
  word: 'candles',
  about: 'candles of a market',
  of: 'market',
  kinds: ['spot', 'perpetual', 'future'],
  isNamedByKey: true,
  table: 'candle_points',
  intervals: candleIntervals,
  columns: [
    { name: 'open', json: 'open', rollup: 'first', about: 'Price at the start of the period, in the quote.' },
    { name: 'high', json: 'high', rollup: 'max', about: 'Highest price in the period, in the quote.' },
    { name: 'low', json: 'low', rollup: 'min', about: 'Lowest price in the period, in the quote.' },
    { name: 'close', json: 'close', rollup: 'last', about: 'Price at the end of the period, in the quote.' },
    {
      name: 'volume',
      json: 'volume',
      rollup: 'sum',
      least: '0',
      about: 'Amount of the base asset traded in the period.',
    },
  ],
  impossible: [
    ['high', 'below', 'low'],
    ['open', 'below', 'low'],
    ['open', 'above', 'high'],
    ['close', 'below', 'low'],
    ['close', 'above', 'high'],
  ],
  areZerosUnknown: false,
  isOnGrid: true,
  timeField: 'period',
  shown: 'close',
  chart: 'candles',
  longer: 'rolled up',
  time: { density: 'some', hasOpen: () => true },
  published: {
    all: {
      name: 'candles',
      about:
        'Candles of every market and interval, stored or derived from finer ones (derived_from). Name an interval: ' +
        'without one every level is read.',
      example:
        "select * from candles where exchange = 'binance' and base = 'bitcoin' and quote = 'tether' and " +
        "interval = 'd1' and time >= '2024-03-01' and time < '2024-03-08' order by time",
    },
    latest: {
      name: 'latest_candles',
      about: 'The newest stored candle of each series, which may be open.',
      example: 'select * from latest_candles order by time desc limit 10',
    },
    knownAt: {
      name: 'candles_as_known_at',
      about:
        'Candles whose periods had ended at known_at, with the values of then. changed_at is when the next change ' +
        'of the row was seen (null: it is still the same).',
      example: "select * from candles_as_known_at('binance', 'bitcoin', 'tether', 'h1', '2024-06-02', '2024-06-01')",
    },
  },
  chunkDays: 30,
  typicalBytes: { columnstore: 21, row: 137 },
} as const satisfies Dataset;

/**
 * What candles of the prices that a venue computes for a perpetual or future have in common: no volume, and a period
 * without a candle is one that the venue lacks.
 */
const ofComputedPrice = {
  of: 'market',
  kinds: ['perpetual', 'future'],
  isNamedByKey: false,
  intervals: candleIntervals,
  areZerosUnknown: true,
  isOnGrid: true,
  timeField: 'period',
  shown: 'close',
  chart: 'candles',
  longer: null,
  time: { density: 'every' },
  chunkDays: 30,
} as const;

const columnsOf = <Bound extends { readonly least?: '0' }>(price: string, unit: string, bound: Bound) =>
  [
    { name: 'open', json: 'open', ...bound, about: `${price} at the start of the period, ${unit}.` },
    { name: 'high', json: 'high', ...bound, about: `Highest ${price.toLowerCase()} in the period, ${unit}.` },
    { name: 'low', json: 'low', ...bound, about: `Lowest ${price.toLowerCase()} in the period, ${unit}.` },
    { name: 'close', json: 'close', ...bound, about: `${price} at the end of the period, ${unit}.` },
  ] as const;

const knownAt = "'binance', 'bitcoin', 'tether:tether', 'h1', '2025-01-02', '2024-12-31'";
const publishedAs = (name: string, price: string, about: string) => ({
  all: {
    name,
    about,
    example:
      `select * from ${name} where base = 'bitcoin' and quote = 'tether:tether' and interval = 'h1' ` +
      "and time >= '2024-12-01' limit 10",
  },
  latest: {
    name: `latest_${name}`,
    about: `The newest stored candle of the ${price} of each market and interval.`,
    example: `select * from latest_${name} order by time desc limit 10`,
  },
  knownAt: {
    name: `${name}_as_known_at`,
    about: `Candles of the ${price} as they were known at a time; see candles_as_known_at.`,
    example: `select * from ${name}_as_known_at(${knownAt})`,
  },
});

export const markCandles = {
  ...ofComputedPrice,
  name: 'mark_candles',
  word: 'mark-candles',
  about: 'candles of the mark price of a perpetual or future',
  table: 'mark_candle_points',
  columns: columnsOf('Mark price', 'in the quote', { least: '0' }),
  impossible: candles.impossible,
  published: publishedAs(
    'mark_candles',
    'mark price',
    'Candles of mark prices: those at which a venue values positions and liquidates them.',
  ),
  typicalBytes: { columnstore: 13, row: 129 },
} as const satisfies Dataset;

export const indexCandles = {
  ...ofComputedPrice,
  name: 'index_candles',
  word: 'index-candles',
  about: 'candles of the index price of a perpetual or future: that of its asset on spot markets',
  table: 'index_candle_points',
  columns: columnsOf('Index price', 'in the quote', { least: '0' }),
  impossible: candles.impossible,
  published: publishedAs(
    'index_candles',
    'index price',
    'Candles of index prices: averages of the prices of spot markets, by the weights of the venue.',
  ),
  typicalBytes: { columnstore: 13, row: 129 },
} as const satisfies Dataset;

export const premiumCandles = {
  ...ofComputedPrice,
  name: 'premium_candles',
  word: 'premium-candles',
  about: 'candles of the premium of a perpetual over its index, from which its funding follows',
  // A future pays no funding.
  kinds: ['perpetual'],
  table: 'premium_candle_points',
  columns: columnsOf('Premium', 'as a fraction of the index price', {}),
  // Venues give opens outside of the lowest and highest.
  impossible: [['high', 'below', 'low']],
  published: publishedAs(
    'premium_candles',
    'premium',
    'Candles of premiums: how far a perpetual trades above its index, as a fraction. They may be negative.',
  ),
  typicalBytes: { columnstore: 17, row: 125 },
} as const satisfies Dataset;
