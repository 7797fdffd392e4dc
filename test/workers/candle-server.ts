/** A source that serves hourly candles and daily history of every series, and misbehaves as a test requires. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { intervalMs } from '../../model/intervals.ts';
import { type LocalServer, serve } from '../sources/local-server.ts';

export type Misbehaviour = (request: IncomingMessage, response: ServerResponse, place: number) => boolean;

/**
 * @param misbehave answers a request and returns true, or returns false; `place` counts requests from 1.
 * @param now the source's clock: it has the candles up to this time.
 */
export function serveCandles(now: () => number, misbehave: Misbehaviour = () => false): Promise<LocalServer> {
  let place = 0;
  return serve((request, response) => {
    place += 1;
    if (misbehave(request, response, place)) return;
    const url = new URL(request.url ?? '', 'http://localhost');
    const start = Number(url.searchParams.get('start'));
    const end = Math.min(Number(url.searchParams.get('end')), now());
    const interval = url.searchParams.get('interval');
    const data: object[] = [];
    if (url.pathname === '/v2/rates') data.push(bitcoinRate);
    else if (interval === 'h1' || interval === 'd1') {
      const length = intervalMs[interval];
      for (let time = Math.ceil(start / length) * length; time < end; time += length) {
        data.push(interval === 'h1' ? candleAt(time) : { priceUsd: priceAt(time), time });
      }
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ data, timestamp: now() }));
  });
}

export function priceAt(timeMs: number): string {
  return `${1 + (timeMs % 9_973)}.1234567890123450`;
}

function candleAt(period: number): object {
  const price = priceAt(period);
  return { open: price, high: price, low: price, close: price, volume: '0.5000000000000000', period };
}

const bitcoinRate = { id: 'bitcoin', symbol: 'BTC', currencySymbol: null, rateUsd: '1.5', type: 'crypto' };
