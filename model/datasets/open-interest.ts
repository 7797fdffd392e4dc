import type { Dataset } from '../dataset.ts';

export const openInterest = {
  name: 'open_interest',
  word: 'open-interest',
  about: 'open interest of a perpetual or future',
  of: 'market',
  kinds: ['perpetual', 'future'],
  isNamedByKey: false,
  table: 'open_interest_points',
  intervals: ['m5', 'm15', 'm30', 'h1', 'h4', 'd1'],
  columns: [
    { name: 'amount', json: 'amount', least: '0', about: 'Open contracts, in the base asset, each counted once.' },
    {
      name: 'value',
      json: 'value',
      isOptional: true,
      least: '0',
      isZeroUnknown: true,
      about: 'The same in the quote, by the venue; null: it does not give it.',
    },
  ],
  impossible: [],
  areZerosUnknown: true,
  isOnGrid: true,
  timeField: 'time',
  shown: 'amount',
  chart: 'line',
  longer: null,
  time: { density: 'every' },
  published: {
    all: {
      name: 'open_interest',
      about: 'Open interest of perpetuals and futures, at the times that the source states.',
      example:
        "select * from open_interest where exchange = 'binance' and base = 'bitcoin' and quote = 'tether:tether' and " +
        "interval = 'h1' and time >= '2024-12-01' order by time limit 10",
    },
    latest: {
      name: 'latest_open_interest',
      about: 'The newest stored open interest of each market and interval.',
      example: 'select * from latest_open_interest order by time desc limit 10',
    },
    knownAt: {
      name: 'open_interest_as_known_at',
      about: 'Open interest of a market as it was known at a time; see candles_as_known_at.',
      example:
        "select * from open_interest_as_known_at('binance', 'bitcoin', 'tether:tether', 'h1', " +
        "'2025-01-02', '2024-12-31')",
    },
  },
  chunkDays: 90,
  typicalBytes: { columnstore: 12, row: 110 },
} as const satisfies Dataset;
