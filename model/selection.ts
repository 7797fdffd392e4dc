/** What a user selects to track. */

import type { EpochMs } from './intervals.ts';
import type { SeriesKey } from './series.ts';

export interface Selection {
  readonly series: readonly SeriesKey[];
  readonly fromMs: EpochMs;
  /** Null: open-ended. */
  readonly toMs: EpochMs | null;
  /**
   * Where to get it, and so the names of its series; null: the user names no source. A known series keeps its sources,
   * and a new one has the default source.
   */
  readonly source: SourceChoice | null;
}

/** What a command selects: series in the words of a source. */
export interface SourceChoice {
  readonly name: string;
  /** `BTC/USDT`, or as the source names it; null: of an asset's history, or where a request names the exchange. */
  readonly symbol: string | null;
  /** Names that the user gives the series; absent: the source's own. */
  readonly exchange?: string | undefined;
  readonly base?: string | undefined;
  readonly quote?: string | undefined;
}

const ofMarket = ['exchange', 'base', 'quote'] as const;

/** What a user says of a market. */
type MarketWords = Readonly<Partial<Record<(typeof ofMarket)[number] | 'source' | 'symbol', string | undefined>>>;

/**
 * The market that a user selects. With a source its symbol names the market, and the names are optional.
 *
 * @returns `lacks`: what else has to be said, first the names.
 */
export function chooseMarket(said: MarketWords) {
  const { exchange, base, quote } = said;
  const [name, symbol = null] = [said.source?.trim(), said.symbol?.trim()];
  const areNamed = name === undefined || (symbol === null && exchange !== undefined);
  const lacks: (keyof MarketWords)[] = areNamed ? ofMarket.filter((one) => said[one] === undefined) : [];
  if (name === undefined && symbol !== null) lacks.push('source');
  if (symbol === null && !areNamed) lacks.push('symbol');
  const names = { exchange: exchange ?? name ?? '', base: base ?? 'base', quote: quote ?? 'quote' };
  const source: SourceChoice | null = name === undefined ? null : { name, symbol, exchange, base, quote };
  return { lacks, names, source };
}
