/** A source that serves the given lists in pages. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type LocalServer, serve } from '../source/local-server.ts';

export type Listed = Readonly<Record<string, unknown>>;

export interface ServedLists {
  /** By path, such as `/assets`. Any other path is unknown. */
  readonly lists: Record<string, readonly Listed[]>;
  /** The maximum number of rows in a page, whatever the request's limit. */
  cap: number;
  /** May answer in place of the server. @returns whether it did. */
  instead: (path: string, offset: number, request: IncomingMessage, response: ServerResponse) => boolean;
}

/** The server and its data, which a test changes while it runs. Each answer has the clock's time. */
export async function serveLists(
  clock: { readonly nowMs: number },
  lists: ServedLists['lists'],
): Promise<LocalServer & { readonly served: ServedLists }> {
  const served: ServedLists = { lists, cap: 2000, instead: () => false };
  const server = await serve((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const path = decodeURIComponent(url.pathname.replace(/^\/v2/, ''));
    const offset = Number(url.searchParams.get('offset') ?? 0);
    if (served.instead(path, offset, request, response)) return;
    const rows = served.lists[path];
    response.setHeader('content-type', 'application/json');
    if (rows === undefined) {
      response.writeHead(404).end('{"error":"that was not found","timestamp":0}');
      return;
    }
    const limit = Math.min(Number(url.searchParams.get('limit') ?? 100), served.cap);
    const data = path === '/exchanges' ? rows : rows.slice(offset, offset + limit);
    response.end(JSON.stringify({ data, timestamp: clock.nowMs }));
  });
  return { ...server, served };
}

/** Fields of a list's row as oddly typed as in the field notes: numbers as text, nulls, and unknown fields. */
export const rowOf = {
  asset: (id: string, rank: number, priceUsd: string | null = '1.5000000000000000'): Listed => ({
    id,
    rank: String(rank),
    symbol: id.slice(0, 3),
    name: id,
    supply: '21000000.0000000000000000',
    maxSupply: null,
    marketCapUsd: '1245306039943.6348338009594672',
    volumeUsd24Hr: null,
    priceUsd,
    changePercent24Hr: '-2.2750030992291848',
    vwap24Hr: null,
    explorer: 'https://example.org/',
  }),
  exchange: (exchangeId: string, rank: number): Listed => ({
    exchangeId,
    name: exchangeId,
    rank: String(rank),
    percentTotalVolume: null,
    volumeUsd: null,
    tradingPairs: '670',
    socket: null,
    exchangeUrl: 'kraken.com',
    updated: 1635717506358,
  }),
  market: (exchangeId: string, baseId: string, rank: number): Listed => ({
    exchangeId,
    rank,
    baseSymbol: 'B',
    baseId,
    quoteSymbol: 'USDT',
    quoteId: 'tether',
    priceQuote: '0.1000',
    priceUsd: '0.1',
    volumeUsd24Hr: null,
    percentExchangeVolume: '7.10',
    tradesCount24Hr: null,
    updated: 1635717506358,
  }),
  assetMarket: (exchangeId: string, baseId: string): Listed => ({
    exchangeId,
    baseId,
    quoteId: 'tether',
    baseSymbol: 'B',
    quoteSymbol: 'USDT',
    volumeUsd24Hr: '2500523092.0961942670825720',
    priceUsd: '61461.10',
    volumePercent: null,
  }),
};
