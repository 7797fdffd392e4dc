/**
 * The client of a Market Data Service.
 *
 * Every call makes exactly one HTTP request, without waiting, retries or redirects: the queue counts calls against the
 * source's limit.
 */

import { Pool } from 'undici';
import type { EpochMs } from '../contract/intervals.ts';
import { type Endpoint, pathOf } from '../contract/paths.ts';
import type {
  AssetsQuery,
  CandlesQuery,
  HistoryQuery,
  MarketsQuery,
  PageQuery,
} from '../contract/requests.ts';
import type {
  Asset,
  AssetMarket,
  Candle,
  Exchange,
  HistoryPoint,
  Market,
  Rate,
} from '../contract/resources.ts';
import { TidemarkError } from '../errors.ts';
import type { UpstreamCoverage } from '../planning/upstream-coverage.ts';
import { type Answer, listAnswer, type ObjectAnswer, objectAnswer } from './answer.ts';
import { attempt, type Reply } from './attempt.ts';
import { candleAnswer } from './candle-answer.ts';
import { refusal } from './refusal.ts';
import { readAsset, readAssetMarket, readExchange, readHistoryPoint, readMarket, readRate } from './rows.ts';
import { statedCoverage } from './stated-coverage.ts';

export interface SourceOptions {
  /** Base address, ending in `/v2`. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** Timeout of one call, from waiting for a connection to the last byte. */
  readonly timeoutMs: number;
  /** Largest decoded body. */
  readonly maxBodyBytes: number;
  /** Connections, hence concurrent calls. Further calls wait, within their timeout. */
  readonly connections: number;
  /** `tidemark/1.2.3` */
  readonly userAgent?: string;
  /** Clock for `retryAtMs`. */
  readonly now?: () => EpochMs;
}

/** Answer for a series, with the coverage that the source states; null: it states none. */
export type SeriesAnswer<Row> = Answer<Row> & { readonly known: UpstreamCoverage | null };

/** Every method makes one request, and throws a `SourceError` if it does not return the resource. */
export interface Source {
  candles(query: CandlesQuery): Promise<SeriesAnswer<Candle>>;
  assetHistory(id: string, query: HistoryQuery): Promise<SeriesAnswer<HistoryPoint>>;
  rates(): Promise<Answer<Rate>>;
  rate(id: string): Promise<ObjectAnswer<Rate>>;
  assets(query?: AssetsQuery): Promise<Answer<Asset>>;
  asset(id: string): Promise<ObjectAnswer<Asset>>;
  assetMarkets(id: string, page?: PageQuery): Promise<Answer<AssetMarket>>;
  markets(query?: MarketsQuery): Promise<Answer<Market>>;
  exchanges(): Promise<Answer<Exchange>>;
  exchange(id: string): Promise<ObjectAnswer<Exchange>>;

  // The interface lists these paths only. Parameters and rows are assumed to be those of the similar endpoint.
  candlesMarket(query: CandlesQuery): Promise<SeriesAnswer<Candle>>;
  exchangesAll(): Promise<Answer<Exchange>>;
  marketsData(query?: MarketsQuery): Promise<Answer<Market>>;
  ratesAll(): Promise<Answer<Rate>>;

  /** Waits for active calls, then closes the connections. */
  close(): Promise<void>;
  /** Aborts active calls, which fail as `unreachable`, and closes the connections. */
  abandon(): Promise<void>;
}

/**
 * Opens no connection yet.
 *
 * @throws TidemarkError BAD_CONFIGURATION when the address or the key cannot be used in a request.
 */
export function openSource(options: SourceOptions): Source {
  const { origin, basePath } = baseOf(options.baseUrl);
  const headers = headersOf(options);
  const now = options.now ?? Date.now;
  const pool = new Pool(origin, {
    connections: options.connections,
    // attempt.ts applies the only timeout.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.timeoutMs },
  });

  async function get(endpoint: Endpoint, id?: string, query: object = {}): Promise<Reply> {
    const path = pathOf(endpoint, id);
    const reply = await attempt({
      dispatcher: pool,
      name: `GET ${path}`,
      path: `${basePath}${path}${queryText(query)}`,
      headers,
      timeoutMs: options.timeoutMs,
      maxBodyBytes: options.maxBodyBytes,
      secret: options.apiKey ?? null,
    });
    if (reply.status !== 200) throw refusal(reply, now());
    return reply;
  }

  async function candles(endpoint: 'candles' | 'candlesMarket', query: CandlesQuery) {
    const reply = await get(endpoint, undefined, query);
    return { ...candleAnswer(reply, query.interval), known: statedCoverage(reply, query) };
  }

  return Object.freeze({
    candles: (query) => candles('candles', query),
    assetHistory: async (id, query) => {
      const reply = await get('assetHistory', id, query);
      return { ...listAnswer(reply, readHistoryPoint), known: statedCoverage(reply, query) };
    },
    rates: async () => listAnswer(await get('rates'), readRate),
    rate: async (id) => objectAnswer(await get('rate', id), readRate),
    assets: async (query) => listAnswer(await get('assets', undefined, query), readAsset),
    asset: async (id) => objectAnswer(await get('asset', id), readAsset),
    assetMarkets: async (id, page) => listAnswer(await get('assetMarkets', id, page), readAssetMarket),
    markets: async (query) => listAnswer(await get('markets', undefined, query), readMarket),
    exchanges: async () => listAnswer(await get('exchanges'), readExchange),
    exchange: async (id) => objectAnswer(await get('exchange', id), readExchange),
    candlesMarket: (query) => candles('candlesMarket', query),
    exchangesAll: async () => listAnswer(await get('exchangesAll'), readExchange),
    marketsData: async (query) => listAnswer(await get('marketsData', undefined, query), readMarket),
    ratesAll: async () => listAnswer(await get('ratesAll'), readRate),
    close: async () => {
      if (!pool.destroyed) await pool.close();
    },
    abandon: () => pool.destroy(),
  } satisfies Source);
}

function baseOf(baseUrl: string): { origin: string; basePath: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new TidemarkError('BAD_CONFIGURATION', `not an http or https address: ${JSON.stringify(baseUrl)}`);
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') };
}

function headersOf({ apiKey, userAgent = 'tidemark' }: SourceOptions): Record<string, string> {
  const headers = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': userAgent };
  if (apiKey === undefined) return headers;
  // The message must not contain the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new TidemarkError('BAD_CONFIGURATION', 'the API key holds a character that no header can carry');
  return { ...headers, authorization: `Bearer ${apiKey}` };
}

/** Query string `?interval=d1&start=0` without undefined values; empty if there are none. */
function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters}`;
}
