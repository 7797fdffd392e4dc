import type { Dataset } from '../dataset.ts';

/** No source gives all of them. */
const ratio = (name: string, json: string, about: string) =>
  ({ name, json, isOptional: true, least: '0', about }) as const;

export const longShortRatios = {
  name: 'long_short_ratios',
  word: 'long-short-ratios',
  about: 'accounts with long positions for each with a short one, of a perpetual or future',
  of: 'market',
  kinds: ['perpetual', 'future'],
  isNamedByKey: false,
  table: 'long_short_ratio_points',
  intervals: ['m5', 'm15', 'm30', 'h1', 'h4', 'd1'],
  columns: [
    ratio('ratio', 'ratio', 'Long accounts for each short one; null: the source gives the shares alone.'),
    ratio('long_share', 'longShare', 'Share of the accounts that are long; null: the source gives the ratio alone.'),
    ratio('short_share', 'shortShare', 'Share of the accounts that are short; null: the source gives the ratio alone.'),
    ratio('top_accounts_ratio', 'topAccountsRatio', 'The ratio of the largest accounts alone; null: not given.'),
    ratio(
      'top_positions_ratio',
      'topPositionsRatio',
      'Size of the long positions of the largest accounts by that of their short ones; null: not given.',
    ),
    ratio('taker_ratio', 'takerRatio', 'Volume that takers bought by the volume that they sold; null: not given.'),
  ],
  impossible: [],
  areZerosUnknown: true,
  isOnGrid: true,
  timeField: 'time',
  shown: 'ratio',
  chart: 'line',
  longer: null,
  time: { density: 'every' },
  published: {
    all: {
      name: 'long_short_ratios',
      about: 'Ratios of long and short accounts of perpetuals and futures, at the times that the source states.',
      example:
        "select * from long_short_ratios where exchange = 'binance' and base = 'bitcoin' and quote = 'tether:tether' " +
        "and interval = 'h1' and time >= '2024-12-01' order by time limit 10",
    },
    latest: {
      name: 'latest_long_short_ratios',
      about: 'The newest stored ratios of each market and interval.',
      example: 'select * from latest_long_short_ratios order by time desc limit 10',
    },
    knownAt: {
      name: 'long_short_ratios_as_known_at',
      about: 'Ratios of a market as they were known at a time; see candles_as_known_at.',
      example:
        "select * from long_short_ratios_as_known_at('binance', 'bitcoin', 'tether:tether', 'h1', " +
        "'2025-01-02', '2024-12-31')",
    },
  },
  chunkDays: 90,
  typicalBytes: { columnstore: 11, row: 108 },
} as const satisfies Dataset;
