import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { type DecimalText, decimalText } from '../../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, minuteMs } from '../../model/intervals.ts';
import type { CandleSeries, HistorySeries, SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { runPass } from '../../scheduler/pass.ts';
import type { PassRules } from '../../scheduler/read-facts.ts';
import { postponeProbe } from '../../store/commit/deferred-windows.ts';
import type { Database } from '../../store/db/database.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { timescaleVersion } from '../../store/timescale/extension.ts';
import { waitFor } from '../parts/wait-for.ts';
import { bitcoinHours, emptyQueue, onEachBackend } from '../queue/queue-parts.ts';
import { graceMs, openPipeline, type Pipeline, type PipelineOptions, simulate } from './run-pipeline.ts';
import { revisionsOf, storedPoints, truthOf } from './stored.ts';

const minutes: CandleSeries = { ...bitcoinHours, interval: 'm1' };
const hours: CandleSeries = { ...minutes, baseId: 'ethereum', interval: 'h1' };
const prices: HistorySeries = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' };
const everySeries: readonly SeriesKey[] = [minutes, hours, prices];

const midnightMs = Date.UTC(2024, 2, 8);
const fromMs = midnightMs - 6 * dayMs;
const reread = { periods: 2, rangeMs: 3 * dayMs, everyMs: dayMs };

/** The range of each series that the current round has read again. */
async function rereadRanges(database: Database) {
  const result = await database.pool.query<{ range: string; at: EpochMs }>(
    `select reread::text as range, reread_at as at from tidemark.series order by id`,
  );
  return result.rows;
}

async function requestsOf(database: Database, lane: string) {
  const result = await database.pool.query<{ requests: number; changed: number; revised: number }>(
    `select count(*) as requests, coalesce(sum(changed), 0)::int as changed, coalesce(sum(revised), 0)::int as revised
     from tidemark.fetches where lane = $1`,
    [lane],
  );
  return result.rows[0];
}

/** Waits until every series was reread in the round that begins at `roundMs`. */
async function untilReread(pipeline: Pipeline, roundMs: EpochMs): Promise<void> {
  const text = (timeMs: EpochMs) => new Date(timeMs).toISOString().replace('T', ' ').replace('.000Z', '+00');
  const whole = `{["${text(roundMs - 3 * dayMs)}","${text(roundMs)}")}`;
  await waitFor('the trailing range to be read again', async () =>
    (await rereadRanges(pipeline.database)).every(({ range }) => range === whole),
  );
}

onEachBackend('the trailing range', (kind) => {
  /** Series since `fromMs`, filled up to ten minutes after midnight. */
  async function filled(every: readonly SeriesKey[], options: PipelineOptions = {}) {
    const clock = { nowMs: midnightMs + 10 * minuteMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url, options);
    for (const series of every) await pipeline.track(series, fromMs, null);
    await pipeline.backfill({}, { refresh: true });
    const {
      database,
      queues: { requests },
    } = pipeline;
    const rules = { backfillShare: 0.2, graceMs, openRefreshMs: null, reread };
    const load = async (other: Partial<PassRules> = {}, requestsPerMinute = 60) => {
      const source = { name: defaultSource, requestsPerMinute };
      await runPass({ database, requests, source, rules: { ...rules, ...other } }, clock.nowMs, 0);
      return (await requests.claimedWindows()).load;
    };
    return { clock, simulator, pipeline, database, load };
  }

  test('is reread once a day; a changed value is updated, kept as a revision, counted and reported once', async () => {
    const clock = { nowMs: midnightMs + 10 * minuteMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const { database } = pipeline;
    const ids = new Map<SeriesKey, number>();
    for (const series of everySeries) ids.set(series, await pipeline.track(series, fromMs, null));
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const scheduler = await pipeline.startScheduler({ refresh: true, reread });
    await pipeline.startWorker({ log });
    await scheduler.settled();
    await untilReread(pipeline, midnightMs);
    // Three days of minutes need three requests, three days of hours one.
    expect(await requestsOf(database, 'reread')).toEqual({ requests: 5, changed: 0, revised: 0 });
    await scheduler.settled();
    expect(await requestsOf(database, 'reread')).toMatchObject({ requests: 5 });
    expect(lines).toEqual([]);

    const changedMs = midnightMs - 30 * hourMs;
    const tooOldMs = midnightMs - 3 * dayMs;
    const revise = (series: SeriesKey, timeMs: EpochMs, values: Record<string, DecimalText>) =>
      simulator.revise({ series, timeMs, fromMs: midnightMs + hourMs, values });
    for (let minute = 0; minute < 7; minute += 1)
      revise(minutes, changedMs + minute * minuteMs, { volume: decimalText(`7.${minute}10`) });
    const price = '123456789012.12345678901234567890';
    for (const timeMs of [changedMs, tooOldMs]) revise(prices, timeMs, { priceUsd: decimalText(price) });
    const truthThen = truthOf(simulator, prices, { startMs: fromMs, endMs: midnightMs });

    clock.nowMs = midnightMs + dayMs + 10 * minuteMs;
    await untilReread(pipeline, midnightMs + dayMs);
    await scheduler.settled();
    const seenAtMs = clock.nowMs;
    expect(await requestsOf(database, 'reread')).toEqual({ requests: 10, changed: 8, revised: 8 });

    for (const series of everySeries) {
      const stored = await storedPoints(database, series);
      const truth = truthOf(simulator, series, { startMs: fromMs, endMs: clock.nowMs });
      const expected = truth.map((row) =>
        // Older than the days that are reread.
        series === prices && 'time' in row && row.time === tooOldMs ? truthThen[3 * 24] : row,
      );
      expect(stored).toEqual(expected);
    }
    const before = truthThen.find((row) => 'time' in row && row.time === changedMs);
    expect(await revisionsOf(database, ids.get(prices) ?? 0)).toEqual([
      { timeMs: changedMs, seenAtMs, before: { price_usd: (before as { priceUsd: string }).priceUsd } },
    ]);
    expect(await revisionsOf(database, ids.get(minutes) ?? 0)).toHaveLength(7);
    expect(await revisionsOf(database, ids.get(hours) ?? 0)).toEqual([]);

    const status = await seriesStatus(database, { nowMs: clock.nowMs, graceMs });
    expect(status.map(({ seriesId, revised, rereadAtMs }) => ({ seriesId, revised, rereadAtMs }))).toEqual(
      expect.arrayContaining([
        { seriesId: ids.get(minutes), revised: 7, rereadAtMs: seenAtMs },
        { seriesId: ids.get(hours), revised: 0, rereadAtMs: seenAtMs },
        { seriesId: ids.get(prices), revised: 1, rereadAtMs: seenAtMs },
      ]),
    );

    // One line for each window, with the count, and the first few changes with both values.
    const told = lines.map((line): Record<string, unknown> => JSON.parse(line));
    expect(told).toHaveLength(2);
    const ofMinutes = told.find((line) => line.revised === 7);
    expect(ofMinutes).toMatchObject({ series: 'binance bitcoin/tether m1', level: 30 });
    expect(ofMinutes?.revisions).toHaveLength(5);
    expect(told.find((line) => line.revised === 1)).toMatchObject({
      series: 'bitcoin h1',
      revisions: [
        {
          time: new Date(changedMs).toISOString(),
          before: { price_usd: (before as { priceUsd: string }).priceUsd },
          after: { price_usd: price },
        },
      ],
    });
  });

  test('waits ten minutes after an answer that lacks what is stored', async () => {
    const { clock, simulator, pipeline, database, load } = await filled([hours]);
    simulator.setFaults({ emptyRate: 1 });
    const worker = await pipeline.startWorker();
    expect(await load()).toMatchObject({ reread: 1 });
    await waitFor('the answer', async () => (await requestsOf(database, 'reread'))?.requests === 1);
    await worker.close();
    clock.nowMs += 9 * minuteMs;
    expect(await load()).toMatchObject({ reread: 0 });
    // What becomes a gap meanwhile is requested at once.
    await database.pool.query(`update tidemark.series set covered = covered - (select range_agg(range) from
      tidemark.pending_windows)`);
    expect(await load()).toMatchObject({ reread: 0, refresh: 1 });
    await emptyQueue(pipeline.queueOptions);
    await database.pool.query(`update tidemark.series set covered = covered + (select range_agg(range) from
      tidemark.pending_windows)`);
    clock.nowMs += minuteMs;
    expect(await load()).toMatchObject({ reread: 1 });
    await emptyQueue(pipeline.queueOptions);
  });

  test('leaves the hypertables unchanged to the byte when nothing changed', async () => {
    const { pipeline, database, load } = await filled(everySeries);
    const tables = ['candle_points', 'asset_history_points'] as const;
    const isTimescale = (await timescaleVersion(database.pool)) !== null;
    if (isTimescale)
      for (const table of tables)
        await database.pool.query(`select compress_chunk(c) from show_chunks('tidemark.${table}') c`);
    const size = isTimescale ? 'hypertable_size' : 'pg_total_relation_size';
    const sizes = async () => {
      const columns = tables.map((table) => `${size}('tidemark.${table}') as ${table}`);
      return (await database.pool.query(`select ${columns.join()}`)).rows;
    };
    for (const table of tables) await database.pool.query(`vacuum tidemark.${table}`);
    const before = await sizes();
    // Three days, of which one request can cover one day of minutes.
    expect(await load({}, 0)).toMatchObject({ reread: 5 });
    const worker = await pipeline.startWorker();
    await untilReread(pipeline, midnightMs);
    await worker.close();
    expect(await requestsOf(database, 'reread')).toEqual({ requests: 5, changed: 0, revised: 0 });
    expect(await sizes()).toEqual(before);
  });

  test('takes few requests from backfill and none from refreshes, and all that are left', async () => {
    const { clock, pipeline, database, load } = await filled([minutes, { ...minutes, baseId: 'ethereum' }]);
    onTestFinished(() => emptyQueue(pipeline.queueOptions));
    const past = await pipeline.track(
      { ...minutes, exchange: 'kraken', quoteId: 'euro' },
      midnightMs - 900 * dayMs,
      midnightMs - 800 * dayMs,
    );
    // No probe for the beginning of the series.
    await postponeProbe.on(database.pool, { seriesId: past, untilMs: clock.nowMs + dayMs });
    clock.nowMs += minuteMs;
    const open = { openRefreshMs: 1 };
    // A twentieth of sixty. The two open candles are always refreshed.
    expect(await load(open)).toMatchObject({ refresh: 2, reread: 3, backfill: 55 });
    const more = await load(open, 62);
    expect(more).toMatchObject({ refresh: 2, reread: 4, backfill: 56 });

    // In the queue or not: the remaining rereads are derived from the database.
    await emptyQueue(pipeline.queueOptions);
    const few = await load(open, 3);
    expect(few).toMatchObject({ refresh: 2, reread: 1, backfill: 0 });
    await emptyQueue(pipeline.queueOptions);
    await database.pool.query(`update tidemark.series set untracked_at = now() where exchange_id = 'kraken'`);
    expect(await load(open)).toMatchObject({ refresh: 2, reread: 6, backfill: 0 });
    await emptyQueue(pipeline.queueOptions);
    const none = await load({ ...open, reread: { ...reread, rangeMs: 0 } });
    expect(none).toMatchObject({ refresh: 2, reread: 0 });
  });
});
