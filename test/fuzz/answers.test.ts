import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../clock.ts';
import type { DatasetName } from '../../model/datasets/index.ts';
import { hourMs, intervalMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { marketDataService } from '../../sources/profiles/market-data-service.ts';
import { openSource, type Source } from '../../sources/source.ts';
import { SourceError } from '../../sources/source-error.ts';
import type { WindowCommit } from '../../store/commit/prepare-window.ts';
import type { Database } from '../../store/db/database.ts';
import { recordFetch } from '../../store/ledger/ledger.ts';
import { trackSeries } from '../../store/series/series.ts';
import { seededTimeoutMs, tryCases } from '../parts/seeded.ts';
import { fillOf, rulesOf } from '../parts/windows.ts';
import { commitRates, commitWindow } from '../store/committing.ts';
import { openTestStore, type TestStore } from '../store/open-store.ts';
import { readStore } from '../trials/read-store.ts';
import { ratesBodies, type SeriesBody, seriesBodies } from './bodies.ts';
import { field, fieldText, numberText, readExactly, shown } from './exact-reading.ts';
import { expectedOf } from './expected.ts';
import { mutation } from './mutations.ts';
import { httpAnswer, type RawServer, startRawServer } from './raw-server.ts';

let store: TestStore;
let database: Database;
let server: RawServer;
let source: Source;
let bodies: SeriesBody[];
let rates: string[];

beforeAll(async () => {
  store = await openTestStore();
  database = store.database;
  server = await startRawServer();
  const limits = { timeoutMs: 30_000, maxBodyBytes: 1_000_000, connections: 1 };
  source = openSource({ profile: marketDataService, ...limits, baseUrl: server.baseUrl, clock: systemClock });
  bodies = await seriesBodies();
  rates = await ratesBodies();
});
afterAll(async () => {
  await source.abandon();
  server.close();
  await store.close();
});

/** A worker's steps for a window: one request, then the commit, or the failure into the ledger. */
async function fetchAndStore(series: SeriesKey, seriesId: number, window: Range, nowMs: number) {
  try {
    const answer = await source.points({ ...series, ...window });
    await commitWindow(database, {
      window: fillOf({ seriesId, series, ...window }),
      ...{ attempt: 1, answer, nowMs, rules: rulesOf(hourMs, 0) },
    } as WindowCommit);
    return { rows: answer.rows.length, rejected: answer.rejected.length };
  } catch (error) {
    await recordFailure(error, series.dataset, seriesId, nowMs);
    return null;
  }
}

/** @throws any error that is not a source error. */
async function recordFailure(
  error: unknown,
  dataset: DatasetName | 'rates',
  seriesId: number | null,
  timeMs: number,
): Promise<void> {
  if (!(error instanceof SourceError)) throw error;
  const { kind, status, message, bytes, durationMs } = error;
  const facts = { verdict: kind, status, error: message, bytes, durationMs };
  await recordFetch(database.pool, { ...facts, timeMs, dataset, seriesId, range: null, lane: 'backfill', attempt: 1 });
}

const mutated = fc.record({ which: fc.nat(), spoil: mutation, isPacked: fc.boolean() });

/** Possible values of the answer's timestamp. */
const oddTimes = ['0', '1', '8640000000000000', '253402300800000', '1780272000001', '1e12', 'null', '"x"'];

function serveSpoilt(body: Buffer, isPacked: boolean): void {
  server.answer = isPacked
    ? httpAnswer(gzipSync(body), ['content-encoding: gzip'])
    : httpAnswer(body, ['content-type: application/json']);
}

/** Puts the whole case into the message, because a report does not show a mutation. */
function about(body: Buffer, error: unknown): Error {
  const text = body.toString('latin1').slice(0, 4000);
  return new Error(`${error instanceof Error ? error.message : String(error)}\nfor: ${text}`, { cause: error });
}

test(
  'stores only values that a mutated answer has for their period, and loses no valid row',
  async () => {
    let stored = 0;
    let refused = 0;
    const cases = await tryCases(
      'mutated series',
      mutated,
      async ({ which, spoil, isPacked }) => {
        const { series, text, times } = bodies[which % bodies.length] as SeriesBody;
        const body = spoil(text);
        const window = { startMs: times[0] ?? 0, endMs: (times.at(-1) ?? 0) + intervalMs[series.interval] };
        const nowMs = window.endMs + 400 * hourMs;
        const run = randomBytes(6).toString('hex');
        const key = series.dataset === 'candles' ? { ...series, exchange: run } : { ...series, assetId: run };
        const { seriesId } = await trackSeries(database, key, window.startMs, window.endMs);
        serveSpoilt(body, isPacked);
        try {
          const read = await fetchAndStore(key, seriesId, window, nowMs);
          const found = (await readStore(database, [seriesId])).get(seriesId);
          const expected = expectedOf(body, series, window);
          expect(found?.requests, 'rows of the ledger').toBe(1);
          for (const [timeMs, values] of found?.points ?? [])
            expect(expected?.allowed.get(timeMs), `values at ${timeMs}`).toContain(values.join(' '));
          if (read === null) {
            refused += 1;
            expect([found?.points.size, found?.covered]).toEqual([0, []]);
            // A body that is nested too deeply is rejected too, but a deep list is not.
            if (!body.includes('[[[[') && !body.includes('{"a":{"a":')) expect(expected?.rows ?? null).toBeNull();
            return;
          }
          stored += found?.points.size ?? 0;
          expect(read.rows + read.rejected, 'rows, good or not').toBe(expected?.rows);
          for (const timeMs of expected?.due ?? []) expect(found?.points.has(timeMs), `${timeMs}`).toBe(true);
          // The same row with the same fault is kept once.
          expect(found?.quarantined.length ?? 0).toBeLessThanOrEqual(read.rejected);
          expect(found?.quarantined.length === 0).toBe(read.rejected === 0);
        } catch (error) {
          throw about(body, error);
        }
      },
      { batch: 50, batches: 10 },
    );
    // Otherwise the test would show nothing.
    if (cases > 1) {
      expect(stored).toBeGreaterThan(10);
      expect(refused).toBeGreaterThan(0);
    }
  },
  seededTimeoutMs,
);

test(
  'stores only values that mutated rates have',
  async () => {
    let stored = 0;
    const cases = await tryCases(
      'mutated rates',
      fc.record({ mutated, timestamp: fc.option(fc.constantFrom(...oddTimes), { freq: 2 }) }),
      async ({ mutated: { which, spoil, isPacked }, timestamp: odd }) => {
        const text = rates[which % rates.length] as string;
        const body = spoil(odd === null ? text : text.replace(/"timestamp":\d+/, `"timestamp":${odd}`));
        const nowMs = Date.UTC(2026, 5, 1);
        await database.pool.query('delete from tidemark.rate_points');
        serveSpoilt(body, isPacked);
        try {
          try {
            await commitRates(database, { answer: await source.list('rates'), nowMs });
          } catch (error) {
            await recordFailure(error, 'rates', null, nowMs);
          }
          const { rows } = await database.pool.query<{ currency: string; rate: string; time: number }>(
            'select currency, rate_usd::text as rate, time from rates',
          );
          const tree = readExactly(body);
          const data = Array.isArray(tree) ? tree : field(tree, 'data');
          const said = (Array.isArray(data) ? data : []).map(
            (row) => `${fieldText(row, 'id')} ${shown(fieldText(row, 'rateUsd') ?? '')}`,
          );
          for (const { currency, rate } of rows) expect(said).toContain(`${currency} ${rate}`);
          const timestamp = Number(numberText(field(tree, 'timestamp')));
          for (const { time } of rows) expect([timestamp, nowMs]).toContain(time);
          stored += rows.length;
        } catch (error) {
          throw about(body, error);
        }
      },
      { batch: 50, batches: 6, share: 0.5 },
    );
    if (cases > 1) expect(stored).toBeGreaterThan(10);
  },
  seededTimeoutMs,
);
