import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import type { Database } from '../../../store/db/database.ts';
import { type NewEntry, recordFetch } from '../../../store/ledger/ledger.ts';
import { readOutageOf } from '../../../store/ledger/source-outage.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';

onEachDatabase('an outage', (kind) => {
  let store: TestStore;
  let database: Database;
  // The clock of the database decides what is recent.
  const startedMs = Date.now();

  beforeAll(async () => {
    store = await openTestStore(kind);
    database = store.database;
  });
  afterAll(() => store.close());
  beforeEach(async () => {
    await database.pool.query('truncate tidemark.fetches');
  });

  const answer = (
    agoMs: number,
    failure?: Pick<NewEntry, 'verdict' | 'error'>,
    source: string | null = null,
  ) =>
    recordFetch(database.pool, {
      timeMs: startedMs - agoMs,
      dataset: 'candles',
      seriesId: null,
      range: null,
      lane: 'backfill',
      attempt: 1,
      verdict: 'filled',
      status: failure === undefined ? 200 : 503,
      rejected: 0,
      bytes: 0,
      durationMs: 1,
      source,
      ...failure,
    });
  const failed = { verdict: 'server_error', error: 'status 503' };

  it('is read back to its start, however long it lasts', async () => {
    await answer(9 * dayMs);
    for (const days of [8, 5, 2, 0.1]) await answer(days * dayMs, failed);
    expect(await readOutageOf(database, null)).toMatchObject({
      kind: 'server_error',
      sinceMs: startedMs - 8 * dayMs,
      lastTriedMs: startedMs - 0.1 * dayMs,
    });
  });

  it('is read without any success', async () => {
    for (const days of [8, 5, 2]) await answer(days * dayMs, failed);
    expect(await readOutageOf(database, null)).toMatchObject({ sinceMs: startedMs - 8 * dayMs });
  });

  it('begins after the newest success of its source', async () => {
    for (const days of [8, 5, 2]) await answer(days * dayMs, failed);
    await answer(3 * hourMs);
    for (const minutes of [50, 40, 30]) await answer(minutes * minuteMs, failed);
    await answer(10 * minuteMs, undefined, 'kraken');
    expect(await readOutageOf(database, null)).toMatchObject({ sinceMs: startedMs - 50 * minuteMs });
    expect(await readOutageOf(database, 'kraken')).toBeNull();
  });

  it('ends with a success', async () => {
    for (const minutes of [50, 40, 30]) await answer(minutes * minuteMs, failed);
    await answer(10 * minuteMs);
    expect(await readOutageOf(database, null)).toBeNull();
  });
});
