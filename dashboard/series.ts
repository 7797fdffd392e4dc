/** Routes of one series: all about it, a part of it, and the points of a part as a file. */

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { openRowWriter } from '../files/formats.ts';
import { datasets } from '../model/datasets/index.ts';
import { isoTime } from '../model/format.ts';
import { type EpochMs, minuteMs } from '../model/intervals.ts';
import { clip, lengthMs, overlaps, type Range } from '../model/ranges.ts';
import { keyNames, keyOf, type SeriesKey, seriesName } from '../model/series.ts';
import { closedUpTo, periodsIn } from '../planning/periods.ts';
import { notFound, ServiceRefusal } from '../service/response.ts';
import type { Database } from '../store/db/database.ts';
import { type Gap, listGaps } from '../store/series/gaps.ts';
import { readSilences } from '../store/series/silences.ts';
import { askableIn, readSourceLists } from '../store/series/sources.ts';
import {
  type PastFetch,
  pastFetches,
  readConfirmedSilences,
  readSeriesHistory,
} from '../store/status/series-history.ts';
import { type ExportSource, seriesExportSource } from '../transfer/export-source.ts';
import { inSnapshot } from '../transfer/queries/export-series.ts';
import { idText, json, rangeIn } from './json.ts';
import type { StatePorts } from './ports.ts';
import { chartedSeries, readPanes } from './queries/points.ts';
import type { PastRequest, SeriesDetail, SeriesRange } from './shapes.ts';

interface SeriesRoutesOptions {
  readonly database: Database;
  readonly graceMs: number;
  readonly ports: Pick<StatePorts, 'sourcesToCompare'>;
}

/** Entries of each list of a series. */
const maxEntries = 20;
/** A client that takes nothing for so long has left: its download would hold a connection. */
const stalledMs = minuteMs;

export function addSeriesRoutes(
  scope: FastifyInstance,
  { database, graceMs, ports }: SeriesRoutesOptions,
  clock: Clock,
): void {
  /** Of the three connections of the pages, a download takes one. */
  let isDownloading = false;

  scope.get('/dashboard/series/:id', async (request, reply) => {
    const of = { seriesId: seriesIdOf(request), nowMs: clock.now(), graceMs };
    return json<'series/:id'>(reply, await seriesDetail(database, of));
  });

  scope.get('/dashboard/series/:id/range', async (request, reply) => {
    const of = { seriesId: seriesIdOf(request), nowMs: clock.now(), graceMs };
    const range = rangeIn(request.query);
    const { series } = await charted(database, of.seriesId);
    const found = await seriesRange(database, { ...of, series, within: periodsIn(range, series.interval) });
    const others = await ports.sourcesToCompare({ seriesId: of.seriesId, series });
    return json<'series/:id/range'>(reply, { ...found, others });
  });

  scope.get('/dashboard/series/:id/points.csv', { exposeHeadRoute: false }, async (request, reply) => {
    const seriesId = seriesIdOf(request);
    const { startMs, endMs } = rangeIn(request.query);
    const { series } = await charted(database, seriesId);
    if (isDownloading) {
      reply.header('retry-after', 10).header('cache-control', 'no-store');
      throw new ServiceRefusal(503, 'another download of points is under way');
    }
    isDownloading = true;
    const query = { series: [series], fromMs: startMs, toMs: endMs, nowMs: clock.now(), graceMs };
    const day = (timeMs: EpochMs) => isoTime(timeMs).slice(0, 10);
    const name = `${keyOf(series).join('-')}-${series.dataset}-${day(startMs)}-${day(endMs)}.csv`;
    try {
      return await inSnapshot(database, async (client) => {
        const source = await seriesExportSource(client, { ...query, allowGaps: true, needsDigits: false });
        reply
          .header('content-disposition', `attachment; filename="${name.replaceAll(/[^\w.-]+/g, '_')}"`)
          .header('cache-control', 'no-store')
          .type('text/csv; charset=utf-8');
        return download(source, reply, clock);
      });
    } finally {
      isDownloading = false;
    }
  });
}

/** Sends the points, and ends when the client has them or leaves. */
async function download(source: ExportSource, reply: FastifyReply, clock: Clock): Promise<FastifyReply> {
  const body = new PassThrough();
  const left = new AbortController();
  reply.raw.once('close', () => left.abort());
  reply.send(body);
  const { signal } = left;
  async function write(piece: Uint8Array): Promise<void> {
    signal.throwIfAborted();
    if (body.write(piece)) return;
    const timer = clock.after(stalledMs, () => left.abort());
    await once(body, 'drain', { signal }).finally(() => timer.stop());
  }
  try {
    const writer = await openRowWriter('csv', { ...source, output: { write } });
    for (const { names, copy } of source.parts) await writer.writeSeries(names, copy(writer.takes), () => {});
    await writer.end();
    body.end();
  } catch (error) {
    // The status is sent: a cut answer is the only sign.
    body.destroy(error instanceof Error ? error : new Error(String(error)));
    if (!signal.aborted) throw error;
  }
  return reply;
}

/** @throws ServiceRefusal 404 */
export function seriesIdOf(request: FastifyRequest): number {
  const { id: text = '' } = request.params as { id?: string };
  const parsed = idText.safeParse(text);
  if (parsed.success) return parsed.data;
  throw notFound('the series');
}

/** @throws ServiceRefusal 404 */
export async function charted(database: Database, seriesId: number) {
  const [found] = await chartedSeries.on(database.pool, { seriesId });
  if (found === undefined) throw notFound(String(seriesId));
  return found;
}

const missingRange = ({ startMs, endMs, cause, message, source, retryAtMs }: Gap) => ({
  ...{ startMs, endMs, cause, message, source, retryAtMs },
});

const pastRequest = ({ attempt: _, status: __, unchanged: ___, ...request }: PastFetch): PastRequest => request;

/** Reads everything about one series except its points. @throws ServiceRefusal 404 */
async function seriesDetail(
  database: Database,
  { seriesId, nowMs, graceMs }: { seriesId: number; nowMs: EpochMs; graceMs: number },
): Promise<SeriesDetail> {
  const found = await charted(database, seriesId);
  const history = await readSeriesHistory(database, { seriesId, nowMs, most: maxEntries });
  const gaps = await listGaps(database, { nowMs, graceMs, seriesIds: [seriesId], ledger: true });
  return {
    id: seriesId,
    name: seriesName(found.series),
    dataset: found.series.dataset,
    interval: found.series.interval,
    panes: await readPanes(database, seriesId, found.series),
    fromMs: history.tracked.startMs,
    toMs: history.tracked.endMs,
    untrackedMs: history.untrackedMs,
    unknown: history.unknown,
    sources: askableIn((await readSourceLists(database.pool, [seriesId])).get(seriesId) ?? []),
    earliestMs: found.earliestMs,
    newestMs: found.newestMs,
    gapsInAll: gaps.length,
    gaps: gaps.slice(-maxEntries).reverse().map(missingRange),
    fetches: history.fetches.map(pastRequest),
    revisions: history.revisions,
    rejections: history.rejections,
  };
}

/** Reads what is known of a part of a series. */
async function seriesRange(
  database: Database,
  of: { seriesId: number; series: SeriesKey; within: Range; nowMs: EpochMs; graceMs: number },
): Promise<Omit<SeriesRange, 'others'>> {
  const { seriesId, series, within, nowMs, graceMs } = of;
  const { tracked } = await readSeriesHistory(database, { seriesId, nowMs, most: 0 });
  const endMs = Math.min(tracked.endMs ?? Number.POSITIVE_INFINITY, closedUpTo(series, nowMs, graceMs));
  const wantedMs = tracked.startMs < endMs ? lengthMs(clip([{ startMs: tracked.startMs, endMs }], within)) : 0;
  const all = await listGaps(database, { nowMs, graceMs, seriesIds: [seriesId], ledger: true });
  const gaps = all.flatMap((gap) => clip([gap], within).map((part) => missingRange({ ...gap, ...part })));
  const silences = await readSilences(database, [seriesId]);
  const newest = { seriesId, within, most: maxEntries };
  return {
    ...within,
    wantedMs,
    coveredMs: wantedMs - lengthMs(gaps),
    gaps: gaps.slice(0, maxEntries),
    gapsInAll: gaps.length,
    silences: silences
      .filter((silence) => overlaps(silence, within))
      .slice(0, maxEntries)
      .map(({ startMs, endMs, proof }) => ({ startMs, endMs, proof })),
    confirmed: await readConfirmedSilences.on(database.pool, newest),
    fetches: (await pastFetches.on(database.pool, newest)).map(pastRequest),
    sql: pointsSql(series, within),
  };
}

/** The statement of the points of a range, in the words of docs/sql.md. */
function pointsSql(series: SeriesKey, { startMs, endMs }: Range): string {
  const { of, published } = datasets[series.dataset];
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const key = keyNames[of].map((name, place) => `${name} = ${literal(keyOf(series)[place] ?? '')}`);
  const times = [`time >= ${literal(isoTime(startMs))}`, `time < ${literal(isoTime(endMs))}`];
  return `select * from ${published.all.name} where ${[...key, ...times].join(' and ')} order by time;`;
}
