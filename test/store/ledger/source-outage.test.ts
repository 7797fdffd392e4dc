import { beforeEach, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import { type NewEntry, recordFetch } from '../../../store/ledger/ledger.ts';
import { readOutageOf } from '../../../store/ledger/source-outage.ts';
import { useStore } from '../open-store.ts';

const store = useStore();
const nowMs = Date.UTC(2024, 5, 1);
beforeEach(async () => {
  await store.database.pool.query('truncate tidemark.fetches');
});

const answer = (agoMs: number, failure?: Pick<NewEntry, 'verdict' | 'error'>, source = defaultSource) =>
  recordFetch(store.database.pool, {
    ...{ timeMs: nowMs - agoMs, dataset: 'candles', seriesId: null, range: null },
    ...{ verdict: 'filled', status: failure === undefined ? 200 : 503, rejected: 0, bytes: 0, durationMs: 1 },
    ...{ lane: 'backfill', attempt: 1, source, ...failure },
  });
const fail = async (...agoMs: number[]) => {
  for (const ago of agoMs) await answer(ago, { verdict: 'server_error', error: 'status 503' });
};
const outage = (source = defaultSource) => readOutageOf(store.database, source, nowMs);

it.each([true, false])(
  'an outage is read back to its start, however long it lasts (a success before it: %s)',
  async (isAfter) => {
    if (isAfter) await answer(9 * dayMs);
    await fail(8 * dayMs, 5 * dayMs, 2 * dayMs, 0.1 * dayMs);
    expect(await outage()).toMatchObject({
      ...{ kind: 'server_error', sinceMs: nowMs - 8 * dayMs, lastTriedMs: nowMs - 0.1 * dayMs },
    });
  },
);

it('an outage begins after the newest success of its source, and ends with one', async () => {
  await fail(8 * dayMs, 5 * dayMs, 2 * dayMs);
  await answer(3 * hourMs);
  await fail(50 * minuteMs, 40 * minuteMs, 30 * minuteMs);
  await answer(10 * minuteMs, undefined, 'kraken');
  expect(await outage()).toMatchObject({ sinceMs: nowMs - 50 * minuteMs });
  expect(await outage('kraken')).toBeNull();
  await answer(10 * minuteMs);
  expect(await outage()).toBeNull();
});
