import { expect, it } from 'vitest';
import { readEvents, readTimeline } from '../../../dashboard/queries/events.ts';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { trackSeries, untrackSeries } from '../../../store/series/series.ts';
import { endPause, readEndedPauses, readPause, writePause } from '../../../store/settings/settings.ts';
import { endSourcePause, writeSourcePause } from '../../../store/settings/source-orders.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { openOwnStore } from '../../store/open-store.ts';

it('says why a series is no longer tracked that its source does not know', async () => {
  const { database } = await openOwnStore();
  const nowMs = Date.UTC(2024, 0, 2, 12);
  for (const [baseId, kind] of [
    ['bitcion', 'not_found'],
    ['bitcoin', null],
  ] as const) {
    const { seriesId } = await trackSeries(database, { ...bitcoinHours, baseId }, nowMs, null);
    await untrackSeries(database, seriesId, nowMs);
    await database.pool.query(
      `update tidemark.series set blocked_kind = $2, blocked_message = 'not found: did you mean "bitcoin"?'
       where id = $1`,
      [seriesId, kind],
    );
  }
  const events = await readEvents(database, { sinceMs: nowMs - dayMs, nowMs, most: 50 });
  expect(
    events
      .filter(({ kind }) => kind === 'untracked')
      .map(({ text }) => text)
      .sort(),
  ).toEqual(['binance bitcion/tether h1: not found: did you mean "bitcoin"?', 'binance bitcoin/tether h1']);
});

it('marks outages, bans, pauses and upgrades of a time', async () => {
  const { database } = await openOwnStore();
  const noonMs = Date.UTC(2024, 0, 2, 12);
  const at = (minutes: number) => noonMs + minutes * minuteMs;
  const nowMs = at(120);
  const fetched = (minutes: number, verdict = 'filled', error: string | null = null, source = defaultSource) =>
    recordFetch(database.pool, {
      ...{ timeMs: at(minutes), dataset: 'candles', seriesId: null, range: null, lane: 'backfill', attempt: 1 },
      ...{ verdict, status: null, rejected: 0, bytes: 0, durationMs: 1, error, source },
    });
  await fetched(0);
  for (const minutes of [1, 2, 3, 4]) await fetched(minutes, 'unreachable', 'ECONNREFUSED');
  await fetched(5);
  await fetched(20, 'rate_limited', 'HTTP 429, for an hour', 'kraken');
  await fetched(80, 'filled', null, 'kraken');
  await fetched(90, 'rate_limited', 'HTTP 418', 'kraken');
  await writePause(database, { sinceMs: at(30), by: 'ann at 127.0.0.1' });
  expect(await writePause(database, { sinceMs: at(31), by: null })).toBe(false);
  expect(await endPause(database, at(40))).toBe(true);
  expect(await endPause(database, at(41))).toBe(false);
  await writeSourcePause(database, 'kraken', { sinceMs: at(50), by: null });
  expect(await endSourcePause(database, 'kraken', at(60))).toBe(true);
  await writePause(database, { sinceMs: at(100), by: null });
  await database.pool.query(`update tidemark.migrations set run_on = to_timestamp($1)`, [at(110) / 1000]);

  const told = async (startMs: number, endMs: number) =>
    (await readTimeline(database, { startMs, endMs }, { nowMs, most: 50 })).map(
      ({ timeMs, untilMs, kind, text }) =>
        `${(timeMs - noonMs) / minuteMs} to ${untilMs === null ? '' : (untilMs - noonMs) / minuteMs} ${kind}: ${text}`,
    );
  const all = await told(at(-60), nowMs);
  expect(all[0]).toMatch(/^110 to {2}upgrade: schema 0001 to \d{4}$/);
  const marks = [
    '100 to 120 pause: all requests paused by a command, not resumed yet',
    '90 to 120 ban: kraken: HTTP 418 (1 request, no good answer since)',
    '50 to 60 pause: kraken paused by a command',
    '30 to 40 pause: all requests paused by ann at 127.0.0.1',
    '20 to 80 ban: kraken: HTTP 429, for an hour (1 request)',
    '1 to 5 outage: the source: ECONNREFUSED (4 requests)',
  ];
  expect(all.slice(1)).toEqual(marks);
  // What began before the range and lasts into it is marked, and nothing that is beside it.
  expect(await told(at(35), at(45))).toEqual(marks.slice(3, 5));
  expect(await told(at(6), at(19))).toEqual([]);
  expect(await told(nowMs - 5000 * dayMs, at(19))).toEqual(marks.slice(5));
  // With another source it has the name that `status` has for it.
  for (const [place, source] of ['kraken', defaultSource].entries()) {
    const { seriesId } = await trackSeries(database, { ...bitcoinHours, baseId: source }, noonMs, null);
    await database.pool.query('update tidemark.series_sources set source = $2 where series_id = $1', [
      seriesId,
      source,
    ]);
    const name = place === 0 ? 'the source' : 'the default source';
    expect((await told(at(-60), nowMs)).at(-1)).toBe(`1 to 5 outage: ${name}: ECONNREFUSED (4 requests)`);
  }
  const events = await readEvents(database, { sinceMs: noonMs - hourMs, nowMs, most: 50 });
  expect(events.filter(({ kind }) => kind === 'pause').map(({ text }) => text)).toHaveLength(3);
});

it('keeps the newest hundred pauses that have ended', async () => {
  const { database } = await openOwnStore();
  for (let pause = 0; pause < 103; pause += 1) {
    await writePause(database, { sinceMs: pause, by: null });
    await endPause(database, pause + 1);
  }
  const ended = await readEndedPauses(database);
  expect(ended).toHaveLength(100);
  expect(ended[0]).toEqual({ source: null, sinceMs: 102, untilMs: 103, by: null });
  expect(await readPause(database.pool)).toBeNull();
});
