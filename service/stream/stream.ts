/**
 * `/v2/stream`: closed candles, points of histories and rates of chosen series, as server-sent events. An event has the
 * id of all that the client has then, so one that comes back with it (browsers do so by themselves) misses nothing.
 */

import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type pg from 'pg';
import type { Clock } from '../../clock.ts';
import { errorOf } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { streamParameters } from '../../v2/requests.ts';
import type { MarketData } from '../market-data.ts';
import { basePath, parseParameters } from '../request.ts';
import { badRequest, ServiceRefusal } from '../response.ts';
import { type Cursor, readCursors, writeCursors } from './cursor.ts';
import { type Followed, follow, versionsOf } from './followed.ts';

interface StreamOptions {
  readonly pool: pg.Pool;
  readonly points: NonNullable<MarketData['points']>;
  readonly clock: Clock;
  readonly visibleFrom: (request: FastifyRequest, nowMs: EpochMs) => EpochMs | null;
}

/** Of one process. Each asks the database once a second. */
const maxStreams = 500;
/** A client begins again after this long. */
const retryMs = 2000;
const tickMs = 1000;
/** Proxies and this service itself end a connection that is silent for half a minute. */
const aliveMs = 15_000;

export function addStream(app: FastifyInstance, options: StreamOptions): void {
  const { clock, pool, points } = options;
  const open = new Set<AbortController>();
  // Otherwise they would keep the service from closing.
  app.addHook('preClose', async () => {
    for (const stream of open) stream.abort();
  });

  app.get(`${basePath}/stream`, async (request, reply) => {
    const { series, start } = parseParameters(streamParameters, request.query);
    if (open.size >= maxStreams) {
      reply.header('retry-after', 60);
      throw new ServiceRefusal(503, `more than ${maxStreams} streams`);
    }
    const nowMs = clock.now();
    const context = { pool, points, visibleFromMs: options.visibleFrom(request, nowMs) };
    const followed = await Promise.all(series.map((name) => follow(name, context)));
    const cursors = cursorsOf(request, followed, start ?? null, nowMs);
    reply
      .type('text/event-stream; charset=utf-8')
      .header('cache-control', 'no-store')
      // Tells nginx not to buffer events.
      .header('x-accel-buffering', 'no');
    if (request.method === 'HEAD') return reply.send('');
    const ended = new AbortController();
    open.add(ended);
    const events = Readable.from(
      untilFailure(eventsOf({ pool, followed, cursors, clock, signal: ended.signal }), request),
      { objectMode: false },
    );
    reply.raw.once('close', () => {
      ended.abort();
      open.delete(ended);
    });
    return reply.send(events);
  });
}

function cursorsOf(
  request: FastifyRequest,
  followed: readonly Followed[],
  startMs: EpochMs | null,
  nowMs: EpochMs,
): Cursor[] {
  const last = request.headers['last-event-id'];
  if (last === undefined || last === '')
    return followed.map((one) => ({ untilMs: startMs ?? one.beginning(nowMs), missing: [] }));
  const cursors = readCursors(
    followed.map(({ name }) => name),
    String(last),
  );
  if (cursors === null) throw badRequest('Last-Event-ID is not of a stream of these series');
  return cursors;
}

/** A stream that fails ends, and the client comes back with its id. */
async function* untilFailure(events: AsyncGenerator<string>, request: FastifyRequest): AsyncGenerator<string> {
  try {
    yield* events;
  } catch (error) {
    request.log.warn({ cause: errorOf(error).message }, 'a stream has ended');
  }
}

interface Following {
  readonly pool: pg.Pool;
  readonly followed: readonly Followed[];
  readonly cursors: readonly Cursor[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The text of the stream. It reads on as fast as the client does. */
async function* eventsOf({ pool, followed, cursors: first, clock, signal }: Following): AsyncGenerator<string> {
  const cursors = [...first];
  const names = followed.map(({ name }) => name);
  const seen: (string | undefined)[] = [];
  let saidMs = clock.monotonicMs();
  yield `retry: ${retryMs}\n\n`;
  while (!signal.aborted) {
    const nowMs = clock.now();
    const versions = await versionsOf(pool, followed, nowMs);
    for (const [place, one] of followed.entries()) {
      const before = cursors[place];
      if (before === undefined || versions[place] === seen[place]) continue;
      for await (const { rows, cursor } of one.news(before, nowMs)) {
        if (signal.aborted) return;
        cursors[place] = cursor;
        if (rows.length === 0) continue;
        saidMs = clock.monotonicMs();
        const data = `{"series":${JSON.stringify(one.name)},"data":[${rows.join(',')}]}`;
        yield `event: points\nid: ${writeCursors(names, cursors)}\ndata: ${data}\n\n`;
      }
      seen[place] = versions[place];
    }
    if (clock.monotonicMs() - saidMs >= aliveMs) {
      saidMs = clock.monotonicMs();
      yield ':\n\n';
    }
    await clock.sleep(tickMs, signal);
  }
}
