/** The routes of the dashboard: the page, its event stream and its JSON. */

import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { hourMs, type Interval, intervalMs, nextPeriodStart, periodStart } from '../model/intervals.ts';
import { AddressLimit } from '../service/connections.ts';
import { notFound, ServiceRefusal } from '../service/response.ts';
import { readLockWaits } from '../store/db/activity.ts';
import type { Database } from '../store/db/database.ts';
import { readRefusals } from '../store/ledger/source-refusals.ts';
import { readFailingJobs } from '../store/upkeep/jobs.ts';
import { type Access, accessGuard, refuse } from './access.ts';
import { type ActionsOptions, addActions } from './actions.ts';
import { readAssets } from './assets.ts';
import { chartIntervals, maxPeriods } from './chart-intervals.ts';
import { addInventory } from './inventory.ts';
import { idText, json, ranged, read, timeText, whole } from './json.ts';
import { Live } from './live.ts';
import { readBands } from './queries/bands.ts';
import { readChartPoints } from './queries/points.ts';
import { failedByKind, failureCauses, mostRevised, newestRejected, readFailures } from './queries/problems.ts';
import { type QueueReader, windowPairs } from './queue.ts';
import { addSeriesRoutes, charted, seriesIdOf } from './series.ts';
import type { Band, Problems } from './shapes.ts';
import { type StateOptions, stateReader } from './state.ts';

export interface DashboardOptions extends Omit<StateOptions, 'clock'> {
  /** A separate pool, so that pages never take a connection from the interface. Use a read-only role. */
  readonly database: Database;
  readonly queue: QueueReader;
  readonly access: Access;
  /** Absent: the dashboard only shows. */
  readonly actions?: ActionsOptions | undefined;
  /** Directory of the built page. */
  readonly assets: string;
  /** Open pages per address; 0: limited only in total. */
  readonly streamsPerAddress: number;
  /** Shortest time between two readings of the state. Default: 2 s. */
  readonly tickMs?: number;
  /** A reading that takes longer counts as trouble. */
  readonly readTimeoutMs: number;
}

const defaultTickMs = 2000;
/** Entries of each kind of problem. */
const maxEntries = 50;

const bandsQuery = z.object({
  ids: z
    .string()
    .max(2000)
    .transform((list) => list.split(','))
    .pipe(z.array(idText).max(100)),
  columns: whole(1, maxPeriods),
  from: timeText.optional(),
  to: timeText.optional(),
});
const pointsQuery = z.object({ interval: z.enum(Object.keys(intervalMs) as Interval[]), from: timeText, to: timeText });
const refusalsQuery = z.object({ source: z.string().max(200) });

/**
 * Serves the dashboard at `/` and under `/dashboard`. Clients without access are redirected from `/` to the
 * description.
 */
export function addDashboard(app: FastifyInstance, options: DashboardOptions, clock: Clock): void {
  const { database, queue, graceMs } = options;
  const { primary = database } = options.replica ?? {};
  const addAssets = readAssets(options.assets);
  const streams = new AddressLimit(options.streamsPerAddress);
  const refusalOf = accessGuard(options.access, clock);
  const live = new Live({
    read: stateReader({ ...options, clock }),
    hasChanged: queue.hasChanged,
    clock,
    tickMs: options.tickMs ?? defaultTickMs,
    readTimeoutMs: options.readTimeoutMs,
    onTrouble: (error) => app.log.warn({ cause: messageOf(error) }, 'cannot read the state for the dashboard'),
  });
  // Before the server waits for pending responses: streams never end by themselves.
  app.addHook('preClose', async () => live.close());

  const bands = async (query: Parameters<typeof readBands>[1]): Promise<Band[]> => {
    const stored = await readBands(database, query);
    return stored.map(({ id, startMs, endMs, ...columns }) => {
      const windows = queue.latest()?.windows.get(id) ?? [];
      const pairs = (isActive: boolean) =>
        windowPairs(
          windows.filter((window) => window.isActive === isActive),
          { startMs, endMs },
          query.columns,
        );
      const layers = { ...columns, queued: pairs(false), active: pairs(true) };
      return { id, startMs, endMs, columns: query.columns, layers };
    });
  };

  app.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      reply.header('cross-origin-resource-policy', 'same-origin');
      const refusal = refusalOf(request);
      if (refusal === null) return;
      if (refusal.status === 403 && request.routeOptions.url === '/') return reply.redirect('docs');
      refuse(reply, refusal);
    });

    addAssets(scope);
    addInventory(scope, { database, graceMs }, clock);
    addSeriesRoutes(scope, { database, graceMs, ports: options.ports }, clock);
    if (options.actions !== undefined) addActions(scope, options.actions, options.access, clock);

    // No HEAD route: its response would never end.
    scope.get('/dashboard/events', { exposeHeadRoute: false }, async (request, reply) => {
      if (live.isFull || streams.isFull(request.ip)) {
        reply.header('retry-after', 10).header('cache-control', 'no-store');
        throw new ServiceRefusal(503, 'too many dashboards are open');
      }
      reply.raw.once('close', streams.acquire(request.ip));
      streamTo(live, reply);
    });

    scope.get('/dashboard/bands', async (request, reply) => {
      const { ids, columns, from, to } = read(bandsQuery, request.query);
      const range = from === undefined || to === undefined ? null : ranged(from, to);
      return json<'bands'>(reply, await bands({ nowMs: clock.now(), graceMs, seriesIds: ids, range, columns }));
    });

    scope.get('/dashboard/series/:id/points', async (request, reply) => {
      const seriesId = seriesIdOf(request);
      const { interval, from, to } = read(pointsQuery, request.query);
      const { series } = await charted(database, seriesId);
      if (!chartIntervals(series.interval).includes(interval))
        throw new ServiceRefusal(400, `of ${series.interval} no ${interval} is made`);
      const range = ranged(periodStart(from, interval), nextPeriodStart(to, interval));
      const columns = (range.endMs - range.startMs) / intervalMs[interval];
      if (columns > maxPeriods) throw new ServiceRefusal(400, `more than ${maxPeriods} periods`);
      const points = await readChartPoints(database, { seriesId, series, interval, range });
      const [band] = await bands({ nowMs: clock.now(), graceMs, seriesIds: [seriesId], range, columns });
      if (band === undefined) throw notFound(String(seriesId));
      return json<'series/:id/points'>(reply, { ...points, interval, ...range, band });
    });

    scope.get('/dashboard/refusals', async (request, reply) => {
      const { source } = read(refusalsQuery, request.query);
      const found = await readRefusals.on(database.pool, { source, most: maxEntries });
      return json<'refusals'>(
        reply,
        found.map(({ lane: _, ...refusal }) => refusal),
      );
    });

    scope.get('/dashboard/backfills', async (_request, reply) => {
      const { facts = null } = (await queue.read()) ?? {};
      return json<'backfills'>(reply, await options.ports.readBackfills(facts, clock.now()));
    });

    scope.get('/dashboard/problems', async (_request, reply) => {
      const nowMs = clock.now();
      const most = maxEntries;
      const { failing, inAll } = await readFailures(database, { nowMs, most });
      const problems: Problems = {
        failing,
        failingInAll: inAll,
        causes: await failureCauses.on(database.pool, { nowMs, most }),
        errors: await failedByKind.on(database.pool, { sinceMs: nowMs - hourMs }),
        quarantine: await newestRejected.on(database.pool, { most }),
        revised: await mostRevised.on(database.pool, { most }),
        locks: await readLockWaits.one(primary.pool, {}),
        jobs: await readFailingJobs(primary),
      };
      return json<'problems'>(reply, problems);
    });
  });
}

function streamTo(live: Live, reply: FastifyReply): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Tells nginx not to buffer events.
    'x-accel-buffering': 'no',
  });
  reply.raw.flushHeaders();
  live.add(reply.raw);
}
