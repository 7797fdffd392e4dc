import { expect, onTestFinished, test } from 'vitest';
import { dayMs, minuteMs } from '../../../contract/intervals.ts';
import { inTransaction } from '../../../store/database.ts';
import { isListKnown, trackList, untrackList } from '../../../store/snapshots/lists.ts';
import { failPoll } from '../../../store/snapshots/polls.ts';
import { askForList, pollStandings } from '../../../store/watch-list/ask.ts';
import { listStandings } from '../../../store/watch-list/listed.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { openTestStore } from '../open-store.ts';
import { answerPage, assetOf, assets, onlyPage } from '../snapshots/polling.ts';

const nowMs = Date.UTC(2026, 10, 20, 12);

async function openStore() {
  const { database, close } = await openTestStore();
  onTestFinished(close);
  const ask = (atMs: number, patiently = true) =>
    askForList(database, { list: assets, nowMs: atMs, patiently });
  const complete = async (atMs: number) => {
    await answerPage(database, await onlyPage(database), [assetOf('bitcoin', 1)], { timeMs: atMs });
    await answerPage(database, await onlyPage(database), [], { timeMs: atMs });
  };
  return { database, ask, complete };
}

test('a list that is asked for is polled once, is followed by nobody, and is no decision', async () => {
  const { database, ask, complete } = await openStore();
  const id = await ask(nowMs);
  expect(id).not.toBeNull();
  expect(await ask(nowMs + 1)).toBe(id);
  await complete(nowMs);
  expect(await pollStandings(database, [Number(id)])).toMatchObject([{ state: 'complete' }]);
  expect(await ask(nowMs + dayMs)).toBeNull();
  expect(await ask(nowMs + dayMs + 1)).not.toBeNull();
  expect(await listStandings(database.pool)).toMatchObject([{ list: assets, isTracked: false, rows: 1 }]);
  expect(await isListKnown(database, assets)).toBe(false);
  expect(await untrackList(database, assets, nowMs)).toBe(false);
  expect(await trackList(database, assets, 5 * minuteMs)).toMatchObject({ change: 'created' });
  expect(await isListKnown(database, assets)).toBe(true);
});

test('one whose last page is being committed is waited for, and not begun a second time', async () => {
  const { database, ask } = await openStore();
  const id = await ask(nowMs);
  let asked: Promise<number | null> = Promise.resolve(null);
  await inTransaction(database, async (client) => {
    await client.query('update tidemark.list_polls set completed_at = begun_at where id = $1', [id]);
    asked = ask(nowMs + 1);
    await waitFor('it to wait', async () => {
      const waiting = await database.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.rowCount === 1;
    });
  });
  expect(await asked).toBeNull();
  expect((await database.pool.query('select from tidemark.list_polls')).rowCount).toBe(1);
});

test('one that failed is left alone for a while, unless somebody asks who does not want to wait', async () => {
  const { database, ask } = await openStore();
  const id = Number(await ask(nowMs));
  await failPoll(database, { pollId: id, message: 'away', nowMs, latestMs: nowMs + 1 });
  expect(await pollStandings(database, [id])).toMatchObject([{ state: 'given_up', reason: 'away' }]);
  expect(await ask(nowMs + 10 * minuteMs - 1)).toBeNull();
  expect(await ask(nowMs + 10 * minuteMs)).not.toBeNull();
  await failPoll(database, {
    ...{ pollId: Number(await ask(nowMs + 10 * minuteMs)), message: 'away' },
    ...{ nowMs: nowMs + 10 * minuteMs, latestMs: nowMs + 10 * minuteMs + 1 },
  });
  expect(await ask(nowMs + 11 * minuteMs, false)).not.toBeNull();
});
