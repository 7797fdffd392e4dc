/**
 * Routes of what the store holds: the calendar of coverage, bytes on disk, events, the requests of a minute, and the
 * contents of lists.
 */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../clock.ts';
import { coverageByMonth } from '../model/calendar.ts';
import { dayMs, type EpochMs, minuteMs } from '../model/intervals.ts';
import { listName } from '../model/lists/index.ts';
import { cachedFor } from '../service/cached.ts';
import { notFound } from '../service/response.ts';
import type { Database } from '../store/db/database.ts';
import { listStatus } from '../store/lists/lists.ts';
import { idText, json, rangeIn, read, timeText } from './json.ts';
import { readCalendarRanges } from './queries/calendar.ts';
import { readEvents, readTimeline } from './queries/events.ts';
import { readListContents } from './queries/lists.ts';
import { readRequestsOf } from './queries/requests.ts';
import { readStoredBytes } from './queries/storage.ts';
import type { Calendar } from './shapes.ts';

/** Entries of a list, events, and requests. */
const maxRows = 200;
const eventsMs = 7 * dayMs;

const calendarQuery = z.object({ series: idText.optional() });
const minuteQuery = z.object({ minute: timeText });
const listQuery = z.object({ name: z.string().max(500) });

export function addInventory(
  scope: FastifyInstance,
  { database, graceMs }: { readonly database: Database; readonly graceMs: number },
  clock: Pick<Clock, 'now'>,
): void {
  const months = async (seriesId: number | null, nowMs: EpochMs): Promise<Calendar> => ({
    months: coverageByMonth(await readCalendarRanges(database, { nowMs, graceMs, seriesId })),
  });
  // Of all series it changes slowly, and 100,000 of them take a second.
  const ofAll = cachedFor(minuteMs / 6, (nowMs) => months(null, nowMs));
  // The sizes of all files of all chunks.
  const bytes = cachedFor(minuteMs, () => readStoredBytes(database));

  scope.get('/dashboard/calendar', async (request, reply) => {
    const { series } = read(calendarQuery, request.query);
    return json<'calendar'>(reply, series === undefined ? await ofAll(clock.now()) : await months(series, clock.now()));
  });

  scope.get('/dashboard/storage', async (_request, reply) => json<'storage'>(reply, await bytes(clock.now())));

  scope.get('/dashboard/events/log', async (_request, reply) =>
    json<'events/log'>(
      reply,
      await readEvents(database, { sinceMs: clock.now() - eventsMs, nowMs: clock.now(), most: maxRows }),
    ),
  );

  scope.get('/dashboard/timeline', async (request, reply) => {
    const query = { nowMs: clock.now(), most: maxRows };
    return json<'timeline'>(reply, await readTimeline(database, rangeIn(request.query), query));
  });

  scope.get('/dashboard/requests', async (request, reply) => {
    const { minute } = read(minuteQuery, request.query);
    return json<'requests'>(reply, await readRequestsOf(database, { minute, most: maxRows }));
  });

  scope.get('/dashboard/list', async (request, reply) => {
    const { name } = read(listQuery, request.query);
    const lists = (await listStatus(database, clock.now())).map(({ list }) => list);
    const list = lists.find((one) => listName(one) === name);
    if (list === undefined) throw notFound(name);
    return json<'list'>(reply, await readListContents(database, list, maxRows));
  });
}
