/** What is known of a source beside its data. */

import type { EpochMs } from './intervals.ts';

/** One of a source's limits. A source may have several at once; each holds by itself. */
export interface Limit {
  readonly unit: 'request' | 'weight' | 'credit';
  readonly amount: number;
  readonly periodMs: number;
  /** One more for each so many bytes of an answer; absent: size costs nothing. */
  readonly bytesEach?: number;
  /** Size of a row, bytes, to estimate what answers will cost. Absent with `bytesEach`. */
  readonly rowBytes?: number;
}

/** The files of an archive. */
export interface ArchiveFiles {
  /** The calendar unit that one file holds, UTC. */
  readonly unit: 'month' | 'day';
  /** How long after its end a file is there; of a month, after the first Monday that follows it. */
  readonly lagMs: number;
}

/** A market as the source names it. */
export interface SourceMarket {
  /** As requests name it: `BTCUSDT`, `BTC-USD`, `XBTUSD`. */
  readonly symbol: string;
  /** Codes of the assets: `BTC`, `USDT`. Kraken's XBT and XDG are BTC and DOGE. */
  readonly base: string;
  readonly quote: string;
  /** Start of trading; null: the source does not say. */
  readonly listedMs: EpochMs | null;
  readonly isTrading: boolean;
}
