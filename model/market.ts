/**
 * Kinds of markets. The quote of a market is a text that also says how it is settled, as ccxt writes it: `tether` of a
 * spot market, `tether:tether` of a perpetual settled in tether, `tether:tether-261225` of a future that expires on 25
 * December 2026. In SQL `tidemark.quote_parts` has the same rule.
 */

export const marketKinds = ['spot', 'perpetual', 'future'] as const;
export type MarketKind = (typeof marketKinds)[number];

interface QuoteParts {
  /** The asset in which prices are. */
  readonly asset: string;
  /** The asset in which profits are paid; null: a spot market. */
  readonly settle: string | null;
  /** The day of expiry, YYMMDD; null: it never expires. */
  readonly expiry: string | null;
}

/** An asset's name contains no colon. */
export function parseQuote(quote: string): QuoteParts {
  const [, asset = quote, settle = null, expiry = null] = /^([^:]*):(.+?)(?:-(\d{6}))?$/.exec(quote) ?? [];
  return { asset, settle, expiry };
}

/** The inverse of {@link parseQuote}. */
export function quoteText({ asset, settle, expiry }: QuoteParts): string {
  return `${asset}${settle === null ? '' : `:${settle}`}${settle === null || expiry === null ? '' : `-${expiry}`}`;
}

export function marketKind(quote: string): MarketKind {
  const { settle, expiry } = parseQuote(quote);
  return settle === null ? 'spot' : expiry === null ? 'perpetual' : 'future';
}

/** Why a text is no quote of a market; null: it is one. */
export function quoteProblem(quote: string): string | null {
  const { asset, settle, expiry } = parseQuote(quote);
  if (asset === '' || asset.includes(':') || settle?.includes(':') === true)
    return `the quote ${JSON.stringify(quote)} is none: name it as tether, tether:tether or tether:tether-261225`;
  if (expiry === null || new Date(expiryMs(quote) ?? 0).toISOString().startsWith(isoDay(expiry))) return null;
  return `the quote ${JSON.stringify(quote)} has an expiry that is no day (YYMMDD)`;
}

function isoDay(expiry: string): string {
  return `20${expiry.slice(0, 2)}-${expiry.slice(2, 4)}-${expiry.slice(4)}T`;
}

/**
 * When a future is delivered; null: never. Binance, OKX and Bybit deliver at 08:00 UTC: `deliveryDate` of Binance's
 * exchangeInfo and `expTime` of OKX's instruments are such times.
 */
export function expiryMs(quote: string): number | null {
  const { expiry } = parseQuote(quote);
  if (expiry === null) return null;
  const [year = 0, month = 0, day = 0] = (expiry.match(/\d\d/g) ?? []).map(Number);
  return Date.UTC(2000 + year, month - 1, day, 8);
}
