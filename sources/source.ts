/**
 * The client of a source, whose profile says how it speaks.
 *
 * Every call makes exactly one HTTP request, without waiting, retries or redirects: the queue counts calls against the
 * source's limit.
 */

import type { Clock } from '../clock.ts';
import { TidemarkError } from '../errors.ts';
import { type DatasetName, datasetText } from '../model/datasets/index.ts';
import { type ListName, lists } from '../model/lists/index.ts';
import { offerOf } from '../model/sources.ts';
import type { Answer, PointsAnswer } from '../planning/answer.ts';
import { madeEarlier, quotingRejected, replyFacts } from './answer.ts';
import { attempt, type Reply } from './attempt.ts';
import { openConnections, proxyFor } from './connections.ts';
import { consistentEntries, consistentPoints } from './contradictions.ts';
import type { ListQuery, PointsQuery, Profile, Resource } from './profiles/profile.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

export interface SourceOptions {
  readonly profile: Profile;
  /** Base address; of a Market Data Service it ends in `/v2`. */
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
  readonly clock: Clock;
  /** Called after each request, for metrics and traces. It is not awaited, and must not throw. */
  readonly onRequest?: ((request: RequestEvent) => void) | undefined;
  /** Called with each response, before it is read: what it cost, and what the source says was used of its limit. */
  readonly onReply?: ((reply: { readonly cost: number; readonly used: number | null }) => void) | undefined;
}

export interface RequestEvent {
  /** What was requested: `candles`, `assetHistory`, or a list. */
  readonly endpoint: string;
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
  const { profile } = options;
  const { origin, basePath } = baseOf(options.baseUrl);
  const headers = headersOf(options, profile);
  const { clock } = options;
  const connections = openConnections(origin, options);
  const proxy = proxyFor(origin);
  let isClosed = false;

  const send = (path: string) =>
    attempt({
      clock,
      dispatcher: connections,
      origin,
      proxy: proxy === null ? null : new URL(proxy).host,
      name: `GET ${path.replace(/\?.*$/, '')}`,
      path: `${basePath}${path}`,
      headers,
      timeoutMs: options.timeoutMs,
      maxBodyBytes: options.maxBodyBytes,
      secret: options.apiKey ?? null,
    });

  /** It comes first: it is small, and without it the file is of no use. */
  async function requestChecksum(path: string | undefined): Promise<Reply | null> {
    if (path === undefined) return null;
    const reply = await send(path);
    options.onReply?.({ cost: 1, used: null });
    if (reply.status !== 200) throw profile.refusal(reply, clock.now());
    return reply;
  }

  /** @param process what is done with the answer before it counts. */
  async function ask<Query, Got extends Answer<unknown, { readonly length: number }>>(
    endpoint: string,
    resource: Resource<Query, Got>,
    query: Query,
    process: (answer: Got, reply: Reply) => Got = (answer) => answer,
  ): Promise<Got> {
    const path = resource.path(query);
    const begun = clock.monotonicMs();
    const report = (
      outcome: RequestEvent['outcome'],
      { status, durationMs, bytes }: Pick<RequestEvent, 'status' | 'durationMs' | 'bytes'>,
      { rows = 0, rejected = 0 } = {},
    ) => {
      const readingMs = Math.max(0, clock.monotonicMs() - begun - durationMs);
      options.onRequest?.({ endpoint, outcome, durationMs, readingMs, status, bytes, rows, rejected });
    };
    let checksum: Reply | null = null;
    try {
      checksum = await requestChecksum(resource.checksumPath?.(query));
      const reply = await send(path);
      options.onReply?.({ cost: resource.cost ?? 1, used: profile.used?.(reply.header) ?? null });
      if (reply.status !== 200) throw profile.refusal(reply, clock.now());
      const answer = quotingRejected(process(await resource.read(reply, query, clock.now(), checksum), reply), reply);
      report('ok', answer, { rows: answer.rows.length, rejected: answer.rejected.length });
      return checksum === null ? answer : { ...answer, checksum: replyFacts(checksum) };
    } catch (error) {
      if (error instanceof SourceError) report(error.kind, error);
      if (error instanceof SourceError && checksum !== null)
        throw new SourceError({ ...error, message: error.message, cause: error.cause, checksum: replyFacts(checksum) });
      if (!(error instanceof SourceError)) report('defect', { status: null, durationMs: 0, bytes: 0 });
      throw error;
    }
  }

  const lacks = (what: string) => new SourceError({ kind: 'refused', message: `${profile.name} has no ${what}` });

  return Object.freeze({
    profile,
    /** The points of a window. */
    async points(query: PointsQuery): Promise<PointsAnswer> {
      const offer = offerOf(profile.offers, query.dataset);
      if (offer === undefined) throw lacks(datasetText(query.dataset));
      return ask(endpointOf(query.dataset), offer, query, (answer, reply) =>
        profile.files === null ? madeEarlier(consistentPoints(answer), reply, clock.now()) : answer,
      );
    },
    /** A page of a list, or all of it. */
    async list(name: ListName, query: ListQuery = {}) {
      const resource = profile.lists[name];
      if (resource === undefined) throw lacks(listText(name));
      const list = lists[name];
      return ask(endpointOf(name), resource, query, (answer) =>
        list.keeps === 'every poll' ? consistentEntries(answer, list) : answer,
      );
    },
    async symbols() {
      if (profile.lists.symbols === undefined) throw lacks('list of symbols');
      return ask('symbols', profile.lists.symbols, {});
    },
    /** Waits for active calls, then closes the connections. */
    close: async () => {
      if (!isClosed) await connections.close();
      isClosed = true;
    },
    /** Aborts active calls, which fail as `unreachable`, and closes the connections. */
    abandon: () => {
      isClosed = true;
      return connections.destroy();
    },
  });
}

/** A dataset or list among the endpoints that metrics and traces count: `assetHistory`. */
export function endpointOf(dataset: DatasetName | ListName): string {
  return dataset.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The list in words, for a source that lacks it. */
function listText(name: ListName): string {
  const { entries, askedFor } = lists[name];
  return askedFor === 'asset' ? `list of the ${entries} of an asset` : `list of ${entries}`;
}

function baseOf(baseUrl: string): { origin: string; basePath: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new TidemarkError('BAD_CONFIGURATION', `not an http or https address: ${JSON.stringify(baseUrl)}`);
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') };
}

function headersOf({ apiKey, userAgent = 'tidemark' }: SourceOptions, profile: Profile): Record<string, string> {
  const headers = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': userAgent };
  if (apiKey === undefined) return headers;
  // The message must not contain the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new TidemarkError('BAD_CONFIGURATION', 'the API key holds a character that no header can carry');
  return { ...headers, ...profile.keyHeaders(apiKey) };
}
