import { expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../../model/intervals.ts';
import { inTransaction } from '../../../store/db/database.ts';
import { isListKnown, trackList, untrackList } from '../../../store/lists/lists.ts';
import { failPoll } from '../../../store/lists/polls.ts';
import { readListStates, readPollStates, requestListPoll } from '../../../store/settings/polled-lists.ts';
import { waitForLock } from '../../parts/wait-for.ts';
import { answerPage, assetOf, assets, onlyPage } from '../lists/polling.ts';
import { openOwnStore } from '../open-store.ts';

const nowMs = Date.UTC(2026, 10, 20, 12);

async function openStore() {
  const { database } = await openOwnStore();
  const ask = (atMs: number, isPatient = true) => requestListPoll(database, { list: assets, nowMs: atMs, isPatient });
  const complete = async (atMs: number) => {
    await answerPage(database, await onlyPage(database), [assetOf('bitcoin', 1)], { timeMs: atMs });
    await answerPage(database, await onlyPage(database), [], { timeMs: atMs });
  };
  return { database, ask, complete };
}

test('a single poll polls the list once, and does not track it', async () => {
  const { database, ask, complete } = await openStore();
  const id = await ask(nowMs);
  expect(id).not.toBeNull();
  expect(await ask(nowMs + 1)).toBe(id);
  await complete(nowMs);
  expect(await readPollStates.on(database.pool, { pollIds: [Number(id)] })).toMatchObject([{ state: 'complete' }]);
  expect(await ask(nowMs + dayMs)).toBeNull();
  expect(await ask(nowMs + dayMs + 1)).not.toBeNull();
  const [state] = await readListStates(database.pool);
  expect(state).toMatchObject({ list: assets, isTracked: false, rows: 1 });
  expect(await isListKnown(database, assets)).toBe(false);
  expect(await untrackList(database, assets, nowMs)).toBe(false);
  expect(await trackList(database, assets, 5 * minuteMs)).toMatchObject({ change: 'created' });
  expect(await isListKnown(database, assets)).toBe(true);
});

test('a poll whose last page is being committed is not begun a second time', async () => {
  const { database, ask } = await openStore();
  const id = await ask(nowMs);
  let asked: Promise<number | null> = Promise.resolve(null);
  await inTransaction(database, async (client) => {
    await client.query('update tidemark.list_polls set completed_at = begun_at where id = $1', [id]);
    asked = ask(nowMs + 1);
    await waitForLock(database.pool);
  });
  expect(await asked).toBeNull();
  expect((await database.pool.query('select from tidemark.list_polls')).rowCount).toBe(1);
});

test('a failed poll is not begun again for a while, unless the request is impatient', async () => {
  const { database, ask } = await openStore();
  const id = Number(await ask(nowMs));
  await failPoll(database, { pollId: id, message: 'away', nowMs, latestMs: nowMs + 1 });
  expect(await readPollStates.on(database.pool, { pollIds: [id] })).toMatchObject([
    { state: 'given_up', reason: 'away' },
  ]);
  expect(await ask(nowMs + 10 * minuteMs - 1)).toBeNull();
  expect(await ask(nowMs + 10 * minuteMs)).not.toBeNull();
  const again = { pollId: Number(await ask(nowMs + 10 * minuteMs)), nowMs: nowMs + 10 * minuteMs };
  await failPoll(database, { ...again, message: 'away', latestMs: again.nowMs + 1 });
  expect(await ask(nowMs + 11 * minuteMs, false)).not.toBeNull();
});
