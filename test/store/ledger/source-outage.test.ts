import { beforeEach, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import { type NewEntry, recordFetch } from '../../../store/ledger/ledger.ts';
import { outages, readOutageOf, readTroubleOf } from '../../../store/ledger/source-outage.ts';
import { useStore } from '../open-store.ts';

const store = useStore();
const nowMs = Date.UTC(2024, 5, 1);
beforeEach(async () => {
  await store.database.pool.query('truncate tidemark.fetches');
});

const answer = (agoMs: number, failure?: Partial<NewEntry>, source = defaultSource) =>
  recordFetch(store.database.pool, {
    ...{ timeMs: nowMs - agoMs, dataset: 'candles', seriesId: null, range: null },
    ...{ verdict: 'filled', status: failure === undefined ? 200 : 503, rejected: 0, bytes: 0, durationMs: 1 },
    ...{ lane: 'backfill', attempt: 1, source, ...failure },
  });
const fail = async (...agoMs: number[]) => {
  for (const ago of agoMs) await answer(ago, { verdict: 'server_error', error: 'status 503' });
};
const logged = () =>
  outages.on(store.database.pool, { source: null, sinceMs: nowMs - 7 * dayMs, untilMs: nowMs, most: 9 });
const outage = (source = defaultSource) => readOutageOf(store.database, source, nowMs);

it.each([true, false])(
  'an outage is read back to its start, however long it lasts (a success before it: %s)',
  async (isAfter) => {
    if (isAfter) await answer(9 * dayMs);
    await fail(8 * dayMs, 5 * dayMs, 2 * dayMs, 0.1 * dayMs);
    expect(await outage()).toMatchObject({
      ...{ kind: 'server_error', sinceMs: nowMs - 8 * dayMs, failingSinceMs: nowMs - 8 * dayMs },
      lastTriedMs: nowMs - 0.1 * dayMs,
    });
    // Of the log it is older than what is looked at.
    expect(await logged()).toMatchObject([{ timeMs: nowMs - 8 * dayMs, requests: 3 }]);
  },
);

it('an outage begins with the first failure after the newest success of its source, and ends with a success', async () => {
  await fail(8 * dayMs, 5 * dayMs, 2 * dayMs);
  await answer(3 * hourMs);
  await fail(50 * minuteMs, 40 * minuteMs, 30 * minuteMs);
  await answer(10 * minuteMs, undefined, 'kraken');
  expect(await outage()).toMatchObject({ sinceMs: nowMs - 50 * minuteMs, failingSinceMs: nowMs - 50 * minuteMs });
  expect(await outage('kraken')).toBeNull();
  await answer(10 * minuteMs);
  expect(await outage()).toBeNull();
});

it('outages that are less than a minute apart are one, for the log as for the state', async () => {
  const secondsAgo = (...seconds: number[]) => seconds.map((one) => 1000 * one);
  await answer(hourMs);
  // The source hangs, answers now and then, and is killed.
  await fail(...secondsAgo(600, 590, 580));
  await answer(575_000);
  await fail(...secondsAgo(570));
  await answer(565_000);
  await fail(...secondsAgo(540, 535, 530));
  await answer(525_000);
  await fail(...secondsAgo(520, 510, 500));
  const [first, ...more] = await logged();
  expect(more).toEqual([]);
  expect(first).toMatchObject({ timeMs: nowMs - 600_000, untilMs: nowMs - 500_000, requests: 9 });
  expect(await outage()).toMatchObject({ sinceMs: nowMs - 600_000, failingSinceMs: nowMs - 520_000 });

  await answer(490_000);
  await fail(...secondsAgo(400, 390, 380));
  expect(await logged()).toHaveLength(2);
  expect(await outage()).toMatchObject({ sinceMs: nowMs - 400_000 });
});

it('a source that limits requests after an outage answers, for as long as it does', async () => {
  await answer(hourMs);
  await fail(50 * minuteMs, 40 * minuteMs, 30 * minuteMs);
  await answer(20 * minuteMs, { verdict: 'rate_limited', error: 'status 429' });
  expect(await outage()).toBeNull();
  await fail(10 * minuteMs);
  expect(await outage()).toMatchObject({ sinceMs: nowMs - 50 * minuteMs, lastTriedMs: nowMs - 10 * minuteMs });
});

it('failures that are always followed by a success are no outage, however close they are', async () => {
  for (let ago = 600_000; ago > 0; ago -= 10_000) {
    await fail(ago);
    await answer(ago - 5000);
  }
  expect(await logged()).toEqual([]);
});

it('the last request to which no answer came is known before the source is away, and when it is asked again', async () => {
  const hang = (agoMs: number, attempt = 1) =>
    answer(agoMs, { ...{ verdict: 'timeout', error: 'no complete answer' }, attempt });
  const unanswered = async () => (await readTroubleOf(store.database, defaultSource, nowMs)).unanswered;
  await answer(hourMs);
  expect(await unanswered()).toBeNull();
  await hang(40_000);
  expect(await unanswered()).toMatchObject({
    ...{ source: defaultSource, failedAtMs: nowMs - 40_000, kind: 'timeout', retryAtMs: nowMs - 39_000 },
  });
  await hang(500, 2);
  expect(await unanswered()).toMatchObject({ failedAtMs: nowMs - 500, retryAtMs: nowMs + 1500 });
  expect(await outage()).toBeNull();
  await hang(300, 3);
  expect(await unanswered()).toBeNull();
  expect(await outage()).toMatchObject({ kind: 'timeout' });
  await answer(200);
  // A source that answers with an error answers.
  await fail(100);
  expect(await unanswered()).toBeNull();
  await hang(50);
  await answer(10, { verdict: 'rate_limited', error: 'status 429' });
  expect(await unanswered()).toBeNull();
});
