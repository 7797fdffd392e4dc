/** A source that emits an event for each request, for metrics and traces. */

import type { Endpoint } from '../contract/paths.ts';
import type { Source } from './source.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

export interface RequestEvent {
  readonly endpoint: Endpoint;
  /** `ok`, the kind of failure, or `defect` for an error of our own. */
  readonly outcome: 'ok' | SourceErrorKind | 'defect';
  /** Until the last byte of the body. */
  readonly durationMs: number;
  /** From there to the parsed rows. */
  readonly readingMs: number;
  /** Null: no response. */
  readonly status: number | null;
  /** Size of the decoded body. */
  readonly bytes: number;
  /** Valid and rejected rows. */
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

/** @param onRequest is called after each request. It is not awaited, and must not throw. */
export function instrumentedSource(source: Source, onRequest: (request: RequestEvent) => void): Source {
  async function telling<Answer extends Answered>(
    endpoint: Endpoint,
    request: Promise<Answer>,
  ): Promise<Answer> {
    const begun = performance.now();
    const readingMs = (durationMs: number) => Math.max(0, performance.now() - begun - durationMs);
    try {
      const answer = await request;
      const { status, durationMs, bytes, rows, rejected } = answer;
      onRequest({
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
        onRequest({
          endpoint,
          outcome,
          durationMs,
          readingMs: readingMs(durationMs),
          status,
          bytes,
          ...none,
        });
      } else {
        const unknown = { durationMs: 0, readingMs: readingMs(0), status: null, bytes: 0 };
        onRequest({ endpoint, outcome: 'defect', ...unknown, ...none });
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
