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
  AssetsRequest,
  CandlesRequest,
  HistoryRequest,
  MarketsRequest,
  PageRequest,
} from '../contract/requests.ts';
import { TidemarkError } from '../errors.ts';
import { type Answer, candleAnswer, listAnswer, statedCoverage } from './answer.ts';
import { attempt, type Reply } from './attempt.ts';
import { refusal } from './refusal.ts';
import { readAsset, readAssetMarket, readExchange, readHistoryPoint, readMarket, readRate } from './rows.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

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
  /** Called after each request, for metrics and traces. It is not awaited, and must not throw. */
  readonly onRequest?: ((request: RequestEvent) => void) | undefined;
}

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

/** Every method makes one request, and throws a `SourceError` if it does not return the resource. */
export type Source = ReturnType<typeof openSource>;

/**
 * Opens no connection yet.
 *
 * @throws TidemarkError BAD_CONFIGURATION when the address or the key cannot be used in a request.
 */
export function openSource(options: SourceOptions) {
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

  async function get<Read extends Answer<unknown>>(
    endpoint: Endpoint,
    { id, query = {} }: { id?: string; query?: object | undefined },
    read: (reply: Reply) => Read,
  ): Promise<Read> {
    const path = pathOf(endpoint, id);
    const begun = performance.now();
    const report = (
      outcome: RequestEvent['outcome'],
      { status, durationMs, bytes }: Pick<RequestEvent, 'status' | 'durationMs' | 'bytes'>,
      { rows = 0, rejected = 0 } = {},
    ) => {
      const readingMs = Math.max(0, performance.now() - begun - durationMs);
      options.onRequest?.({ endpoint, outcome, durationMs, readingMs, status, bytes, rows, rejected });
    };
    try {
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
      const answer = read(reply);
      report('ok', answer, { rows: answer.rows.length, rejected: answer.rejected.length });
      return answer;
    } catch (error) {
      if (error instanceof SourceError) report(error.kind, error);
      else report('defect', { status: null, durationMs: 0, bytes: 0 });
      throw error;
    }
  }

  return Object.freeze({
    candles: (query: CandlesRequest) =>
      get('candles', { query }, (reply) => ({
        ...candleAnswer(reply, query.interval),
        known: statedCoverage(reply, query),
      })),
    assetHistory: (id: string, query: HistoryRequest) =>
      get('assetHistory', { id, query }, (reply) => ({
        ...listAnswer(reply, readHistoryPoint),
        known: statedCoverage(reply, query),
      })),
    rates: () => get('rates', {}, (reply) => listAnswer(reply, readRate)),
    assets: (query?: Partial<AssetsRequest>) =>
      get('assets', { query }, (reply) => listAnswer(reply, readAsset)),
    assetMarkets: (id: string, query?: Partial<PageRequest>) =>
      get('assetMarkets', { id, query }, (reply) => listAnswer(reply, readAssetMarket)),
    markets: (query?: Partial<MarketsRequest>) =>
      get('markets', { query }, (reply) => listAnswer(reply, readMarket)),
    exchanges: () => get('exchanges', {}, (reply) => listAnswer(reply, readExchange)),
    /** Waits for active calls, then closes the connections. */
    close: async () => {
      if (!pool.destroyed) await pool.close();
    },
    /** Aborts active calls, which fail as `unreachable`, and closes the connections. */
    abandon: () => pool.destroy(),
  });
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
