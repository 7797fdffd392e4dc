/** The dashboard's page, its stream of events, and the JSON that it asks for. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  candleIntervals,
  type EpochMs,
  historyIntervals,
  intervalMs,
  nextPeriodStart,
  periodStart,
} from '../../contract/intervals.ts';
import { bandsOf } from '../../store/dashboard/bands.ts';
import { chartPoints } from '../../store/dashboard/points.ts';
import { failingNow, newestQuarantined, revisedSeries } from '../../store/dashboard/problems.ts';
import { failedRequests } from '../../store/dashboard/requests.ts';
import { chartedSeries } from '../../store/dashboard/series.ts';
import type { Database } from '../../store/database.ts';
import { notFound, ServiceRefusal } from '../refusals.ts';
import { type Access, Gate, sendRefusal } from './access.ts';
import { readAssets } from './assets.ts';
import { chartIntervals, mostPeriods } from './chart-level.ts';
import { seriesDetail } from './detail.ts';
import { inFlightPairs } from './in-flight.ts';
import { Live } from './live.ts';
import type { ServedQueue } from './queue.ts';
import type { Band, Points, Problems } from './shapes.ts';
import { type StateOptions, stateReader } from './state.ts';

export interface DashboardOptions extends Omit<StateOptions, 'now'> {
  /** Of its own, so that pages never take a connection from the interface. Best one that only reads. */
  readonly database: Database;
  readonly queue: ServedQueue;
  readonly access: Access;
  /** Where the build has put the page's files. */
  readonly assets: string;
  /** Least time between two readings of the state; 2 s unless given. */
  readonly tickMs?: number;
  /** How long a reading of it may take before pages are told that the store cannot be read; 10 s unless given. */
  readonly patienceMs?: number;
}

const usualTickMs = 2000;
const usualPatienceMs = 10_000;
const anHourMs = 3_600_000;
/** Of each kind of problem. */
const fewest = 50;

const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().min(least).max(most));
const id = whole(1, 2_147_483_647);
const time = whole(0, Date.UTC(9999, 0, 1));
const bandsQuery = z.object({
  ids: z
    .string()
    .max(2000)
    .transform((list) => list.split(','))
    .pipe(z.array(id).max(100)),
  columns: whole(1, mostPeriods),
  from: time.optional(),
  to: time.optional(),
});
const pointsQuery = z.object({
  interval: z.enum([...new Set([...candleIntervals, ...historyIntervals])]),
  from: time,
  to: time,
});

/** Serves it at `/` and under `/dashboard`, to whom the access allows. To others `/` is the description. */
export function addDashboard(app: FastifyInstance, options: DashboardOptions, now: () => EpochMs): void {
  const { database, queue, graceMs } = options;
  const assets = readAssets(options.assets);
  const gate = new Gate(options.access, now);
  const live = new Live({
    read: stateReader({ ...options, now }),
    now,
    tickMs: options.tickMs ?? usualTickMs,
    patienceMs: options.patienceMs ?? usualPatienceMs,
    onTrouble: (error) =>
      app.log.warn(
        { cause: error instanceof Error ? error.message : String(error) },
        'the state could not be read for the dashboard',
      ),
  });
  // Before the server waits for what is under way: streams never end by themselves.
  app.addHook('preClose', async () => live.close());

  const bands = async (query: Parameters<typeof bandsOf>[1]): Promise<Band[]> => {
    const stored = await bandsOf(database, query);
    return stored.map(({ id, startMs, endMs, ...columns }) => {
      const windows = queue.seen()?.windows.get(id) ?? [];
      const inFlight = inFlightPairs(windows, { startMs, endMs }, query.columns);
      return { id, startMs, endMs, columns: query.columns, layers: { ...columns, inFlight } };
    });
  };

  app.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      reply.header('cross-origin-resource-policy', 'same-origin');
      const refusal = gate.refusal(request);
      if (refusal === null) return;
      if (refusal.status === 403 && request.routeOptions.url === '/') return reply.redirect('docs');
      return sendRefusal(reply, refusal);
    });

    scope.get('/', async (request, reply) => assets.sendPage(request, reply));
    assets.addTo(scope);

    // Without its body a stream would never end.
    scope.get('/dashboard/events', { exposeHeadRoute: false }, async (request, reply) => {
      if (live.isFull) {
        reply.header('retry-after', 10).header('cache-control', 'no-store');
        throw new ServiceRefusal(503, 'too many dashboards are open');
      }
      streamTo(live, request, reply);
    });

    scope.get('/dashboard/bands', async (request, reply) => {
      const { ids, columns, from, to } = read(bandsQuery, request.query);
      const range = from === undefined || to === undefined ? null : ranged(from, to);
      return json(reply, await bands({ nowMs: now(), graceMs, seriesIds: ids, range, columns }));
    });

    scope.get('/dashboard/series/:id', async (request, reply) => {
      const seriesId = seriesIdOf(request);
      return json(reply, await seriesDetail(database, { seriesId, nowMs: now(), graceMs }));
    });

    scope.get('/dashboard/series/:id/points', async (request, reply) => {
      const seriesId = seriesIdOf(request);
      const { interval, from, to } = read(pointsQuery, request.query);
      const found = await chartedSeries(database, seriesId);
      if (found === null) throw notFound(String(seriesId));
      const { series } = found;
      if (!chartIntervals(series.interval).includes(interval))
        throw new ServiceRefusal(400, `of ${series.interval} no ${interval} is made`);
      const range = ranged(periodStart(from, interval), nextPeriodStart(to, interval));
      const columns = (range.endMs - range.startMs) / intervalMs[interval];
      if (columns > mostPeriods) throw new ServiceRefusal(400, `more than ${mostPeriods} periods`);
      const points = await chartPoints(database, { seriesId, series, interval, range });
      const [band] = await bands({ nowMs: now(), graceMs, seriesIds: [seriesId], range, columns });
      if (band === undefined) throw notFound(String(seriesId));
      return json(reply, { ...points, interval, ...range, band } satisfies Points);
    });

    scope.get('/dashboard/problems', async (_request, reply) => {
      const nowMs = now();
      const { failing, inAll } = await failingNow(database, { nowMs, most: fewest });
      const problems: Problems = {
        ...{ failing, failingInAll: inAll },
        errors: await failedRequests(database, nowMs - anHourMs),
        quarantine: await newestQuarantined(database, fewest),
        revised: await revisedSeries(database, fewest),
      };
      return json(reply, problems);
    });
  });
}

function streamTo(live: Live, request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Of nginx: pass every event on at once.
    'x-accel-buffering': 'no',
  });
  reply.raw.flushHeaders();
  const last = request.headers['last-event-id'];
  live.add(reply.raw, typeof last === 'string' ? last : undefined);
}

function json(reply: FastifyReply, value: unknown): FastifyReply {
  return reply
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(value));
}

function read<Schema extends z.ZodType>(schema: Schema, query: unknown): z.output<Schema> {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  throw new ServiceRefusal(400, `bad ${parsed.error.issues[0]?.path.join('.')}`);
}

function ranged(startMs: EpochMs, endMs: EpochMs) {
  if (startMs < endMs) return { startMs, endMs };
  throw new ServiceRefusal(400, 'the range ends before it begins');
}

function seriesIdOf(request: FastifyRequest): number {
  const { id: text = '' } = request.params as { id?: string };
  const parsed = id.safeParse(text);
  if (parsed.success) return parsed.data;
  throw notFound('the series');
}
