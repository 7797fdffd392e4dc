import type { Dataset } from '../dataset.ts';

// No value of another file, so that no chain of imports is longer.
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Settled rates, never predicted ones. Venues settle every 8, 6, 4, 2 or 1 hours, and change that. */
export const fundingRates = {
  name: 'funding_rates',
  word: 'funding',
  about: 'funding rates that a perpetual settled',
  of: 'market',
  kinds: ['perpetual'],
  isNamedByKey: false,
  table: 'funding_rate_points',
  intervals: ['h1'],
  columns: [
    { name: 'rate', json: 'rate', about: 'What a long position pays a short one, as a fraction of its value.' },
    {
      name: 'interval_hours',
      json: 'intervalHours',
      isOptional: true,
      least: '0',
      isZeroUnknown: true,
      about: 'Hours since the event before, as the source states them; null: it does not.',
    },
    {
      name: 'mark_price',
      json: 'markPrice',
      isOptional: true,
      least: '0',
      isZeroUnknown: true,
      about: 'Mark price at which positions were valued, in the quote; null: the source does not give it.',
    },
    {
      name: 'delay_ms',
      json: 'delayMs',
      isOptional: true,
      about: 'Milliseconds from `time`, the full hour, to the time that the source states.',
    },
  ],
  impossible: [],
  areZerosUnknown: false,
  isOnGrid: true,
  timeField: 'time',
  shown: 'rate',
  chart: 'bars',
  longer: null,
  time: {
    density: 'linked',
    link: { column: 'interval_hours', unitMs: hourMs },
    reachMs: 24 * hourMs,
    longestMs: 8 * hourMs,
    latestMs: minuteMs,
    delay: 'delay_ms',
  },
  published: {
    all: {
      name: 'funding_rates',
      about:
        'Funding rates that perpetuals settled, at the full hour; delay_ms leads to the time that the source stated.',
      example:
        "select * from funding_rates where exchange = 'binance' and base = 'bitcoin' and quote = 'tether:tether' and " +
        "time >= '2024-12-01' order by time limit 10",
    },
    latest: {
      name: 'latest_funding_rates',
      about: 'The newest stored funding rate of each perpetual.',
      example: 'select * from latest_funding_rates order by time desc limit 10',
    },
    knownAt: {
      name: 'funding_rates_as_known_at',
      about: 'Funding rates of a perpetual as they were known at a time; see candles_as_known_at.',
      example:
        "select * from funding_rates_as_known_at('binance', 'bitcoin', 'tether:tether', 'h1', " +
        "'2025-01-02', '2024-12-31')",
    },
  },
  chunkDays: 365,
  typicalBytes: { columnstore: 11, row: 112 },
} as const satisfies Dataset;
