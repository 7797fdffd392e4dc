/**
 * Coinbase Exchange's REST interface: candles and the list of products.
 *
 * Source: docs.cdp.coinbase.com, "Get product candles", "Get all products" and "Rate Limits". Values are JSON numbers
 * with all digits of the synthetic market. A period without a trade has no row. It has the granularities of the
 * interface: Coinbase also has six hours.
 */

import type { CandleInterval } from '../../model/datasets/candles.ts';
import { type EpochMs, intervalMs, nextPeriodStart } from '../../model/intervals.ts';
import { json, type Venue, type VenueAnswer, type VenueRequest } from './venue.ts';

/** By their seconds. */
const intervals: Readonly<Record<string, CandleInterval>> = {
  60: 'm1',
  300: 'm5',
  900: 'm15',
  3600: 'h1',
  86400: 'd1',
};

const maxRows = 300;

const refused = (message: string) => json({ message }, 400);
const notFound = json({ message: 'NotFound' }, 404);

export const coinbase: Venue = {
  exchange: 'coinbase',
  limit: { amount: 10, periodMs: 1000, kind: 'bucket', burst: 15 },
  refuse: () => json({ message: 'Public rate limit exceeded' }, 429),
  failure: json({ message: 'Internal server error' }, 500),
  unknownPath: notFound,
  routes: [
    { path: '/products/:id/candles', answer: candles },
    { path: '/products', answer: products },
  ],
};

function candles({ params, query, data, nowMs }: VenueRequest): VenueAnswer {
  const market = data.markets.find(({ base, quote }) => `${base}-${quote}` === params.id);
  if (market === undefined) return notFound;
  const interval = intervals[query.granularity ?? '60'];
  if (interval === undefined) return refused('Unsupported granularity');

  const lengthMs = intervalMs[interval];
  // Without one of them, both are ignored.
  const isRanged = query.start !== undefined && query.end !== undefined;
  const startMs = isRanged ? timeOf(query.start) : nowMs - maxRows * lengthMs;
  // Inclusive, by the start of a period.
  const lastMs = isRanged ? timeOf(query.end) : nowMs;
  if (startMs === null || lastMs === null) return refused('invalid start or end');
  const firstMs = nextPeriodStart(startMs, interval);
  if (lastMs - firstMs >= maxRows * lengthMs) {
    return refused('granularity too small for the requested time range. Count of aggregations requested exceeds 300');
  }
  const before = data.rowsBeforeStart * lengthMs;
  const rows = data.cut(data.candles(market, interval, { startMs: firstMs - before, endMs: lastMs + 1 }));
  // Written as text: a JavaScript number would lose digits.
  const texts = rows
    .toReversed()
    .map(({ period, low, high, open, close, volume }) => [period / 1000, low, high, open, close, volume].join(','));
  return { status: 200, body: `[${texts.map((text) => `[${text}]`).join(',')}]` };
}

/** ISO 8601 or seconds since 1970; null: neither. */
function timeOf(text = ''): EpochMs | null {
  const timeMs = /^\d{1,11}$/.test(text) ? Number(text) * 1000 : Date.parse(text);
  return Number.isNaN(timeMs) ? null : timeMs;
}

function products({ data }: VenueRequest): VenueAnswer {
  return json(
    data.markets.map(({ base, quote }) => ({
      id: `${base}-${quote}`,
      base_currency: base,
      quote_currency: quote,
      quote_increment: '0.01',
      base_increment: '0.00000001',
      display_name: `${base}-${quote}`,
      min_market_funds: '1',
      margin_enabled: false,
      post_only: false,
      limit_only: false,
      cancel_only: false,
      status: 'online',
      status_message: '',
      trading_disabled: false,
      fx_stablecoin: false,
      max_slippage_percentage: '0.02000000',
      auction_mode: false,
      high_bid_limit_percentage: '',
    })),
  );
}
