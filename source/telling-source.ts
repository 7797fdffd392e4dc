/** A source that tells of each request how it ended, to who counts them. */

import type { Endpoint } from '../contract/paths.ts';
import type { Source } from './source.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

/** One request, answered or not. */
export interface RequestTold {
  readonly endpoint: Endpoint;
  /** `ok`, or how it failed; `defect`: with an error that is not the source's. */
  readonly outcome: 'ok' | SourceErrorKind | 'defect';
  /** To the last byte of the body. */
  readonly durationMs: number;
  /** From then on, to the rows. */
  readonly readingMs: number;
  /** HTTP status; null when no answer came. */
  readonly status: number | null;
  /** Size of the decoded body. */
  readonly bytes: number;
  /** Rows of the answer that could be read, and that could not. */
  readonly rows: number;
  readonly rejected: number;
}

interface Answered {
  readonly status: number;
  readonly durationMs: number;
  readonly bytes: number;
  readonly rows?: readonly unknown[];
  readonly rejected?: readonly unknown[];
}

/** @param told is called when a request has ended. Nobody waits for it, and it must not throw. */
export function tellingSource(source: Source, told: (request: RequestTold) => void): Source {
  async function telling<Answer extends Answered>(
    endpoint: Endpoint,
    request: Promise<Answer>,
  ): Promise<Answer> {
    const begun = performance.now();
    const readingMs = (durationMs: number) => Math.max(0, performance.now() - begun - durationMs);
    try {
      const answer = await request;
      const { status, durationMs, bytes, rows, rejected } = answer;
      told({
        endpoint,
        outcome: 'ok',
        durationMs,
        readingMs: readingMs(durationMs),
        status,
        bytes,
        rows: rows?.length ?? 1,
        rejected: rejected?.length ?? 0,
      });
      return answer;
    } catch (error) {
      const none = { rows: 0, rejected: 0 };
      if (error instanceof SourceError) {
        const { kind: outcome, durationMs, status, bytes } = error;
        told({ endpoint, outcome, durationMs, readingMs: readingMs(durationMs), status, bytes, ...none });
      } else {
        const unknown = { durationMs: 0, readingMs: readingMs(0), status: null, bytes: 0 };
        told({ endpoint, outcome: 'defect', ...unknown, ...none });
      }
      throw error;
    }
  }
  return Object.freeze({
    candles: (query) => telling('candles', source.candles(query)),
    assetHistory: (id, query) => telling('assetHistory', source.assetHistory(id, query)),
    rates: () => telling('rates', source.rates()),
    rate: (id) => telling('rate', source.rate(id)),
    assets: (query) => telling('assets', source.assets(query)),
    asset: (id) => telling('asset', source.asset(id)),
    assetMarkets: (id, page) => telling('assetMarkets', source.assetMarkets(id, page)),
    markets: (query) => telling('markets', source.markets(query)),
    exchanges: () => telling('exchanges', source.exchanges()),
    exchange: (id) => telling('exchange', source.exchange(id)),
    candlesMarket: (query) => telling('candlesMarket', source.candlesMarket(query)),
    exchangesAll: () => telling('exchangesAll', source.exchangesAll()),
    marketsData: (query) => telling('marketsData', source.marketsData(query)),
    ratesAll: () => telling('ratesAll', source.ratesAll()),
    close: () => source.close(),
    abandon: () => source.abandon(),
  } satisfies Source);
}
