import { afterEach, beforeEach, expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import type { Database } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackList, untrackList } from '../../../store/lists/lists.ts';
import { beginPolls, failPoll, openPages } from '../../../store/lists/polls.ts';
import type { Asset } from '../../../v2/resources.ts';
import { useStore } from '../open-store.ts';
import { answerPage, assetOf, assets, onlyPage, poll } from './polling.ts';

const startMs = Date.UTC(2024, 0, 1);
/** Time of the n-th poll: five minutes apart. */
const at = (n: number) => startMs + n * 5 * minuteMs;

const store = useStore();
let database: Database;
beforeEach(async () => {
  ({ database } = store);
  await trackList(database, assets, 5 * minuteMs);
});
afterEach(() =>
  database.pool.query(`truncate tidemark.lists, tidemark.list_polls, tidemark.poll_pages, tidemark.listed_assets,
      tidemark.asset_states, tidemark.quarantine, tidemark.fetches`),
);

async function count(table: string): Promise<number> {
  const result = await database.pool.query<{ rows: number }>(`select count(*) as rows from ${table}`);
  return result.rows[0]?.rows ?? -1;
}
async function states(of: string, ...values: string[]): Promise<unknown[]> {
  const columns = 'asset, rank, price_usd::text as price, time, gone_since';
  return (await database.pool.query(`select ${columns} from ${of} order by asset`, values)).rows;
}
const stateAt = (timeMs: number) => states('assets_at($1)', timestamp(timeMs));
const stateNow = () => states('assets');
/** Begins the poll at a time, and answers its first page, or the next one. */
async function answerNext(rows: readonly Asset[], at: Parameters<typeof answerPage>[3]) {
  await beginPolls.on(database.pool, { nowMs: at.nowMs ?? at.timeMs });
  return answerPage(database, await onlyPage(database), rows, at);
}
const many = (count: number) => Array.from({ length: count }, (_, place) => assetOf(`a${place}`, place + 1));

it('keep changes to the last zero, and return every state at its time', async () => {
  await poll(database, at(0), [assetOf('a', 1, { priceUsd: '1.5' }), assetOf('b', 2)]);
  await poll(database, at(1), [assetOf('a', 1, { priceUsd: '1.50' }), assetOf('b', 2)]);
  await poll(database, at(2), [assetOf('b', 1), assetOf('a', 2, { priceUsd: null })]);
  expect(await count('asset_snapshots')).toBe(5);
  const a = { asset: 'a', gone_since: null };
  const b = { asset: 'b', price: '1.50', gone_since: null };
  expect(await stateAt(at(0) - 1)).toEqual([]);
  expect(await stateAt(at(1) - 1)).toEqual([
    { ...a, rank: 1, price: '1.5', time: at(0) },
    { ...b, rank: 2, time: at(0) },
  ]);
  expect(await stateAt(at(1))).toEqual([
    { ...a, rank: 1, price: '1.50', time: at(1) },
    { ...b, rank: 2, time: at(0) },
  ]);
  expect(await stateNow()).toEqual([
    { ...a, rank: 2, price: null, time: at(2) },
    { ...b, rank: 1, time: at(2) },
  ]);
  expect(await stateAt(at(9))).toEqual(await stateNow());
});

it('a day of polls that bring nothing new keeps no row, and touches none', async () => {
  const rows = many(200);
  await poll(database, at(0), rows);
  const written = () =>
    database.pool.query(`select max(xmin::text::bigint) as newest, count(*) as rows from tidemark.listed_assets`);
  const before = await written();
  for (let hour = 1; hour <= 24; hour++)
    expect(await poll(database, at(12 * hour), rows)).toMatchObject([{}, { verdict: 'last' }]);
  expect(await count('asset_snapshots')).toBe(200);
  expect((await written()).rows).toEqual(before.rows);
  const polls = await database.pool.query(
    'select count(*) as polls, sum(changed) as changed, min(rows) as rows from polls where completed_at is not null',
  );
  expect(polls.rows).toEqual([{ polls: 25, changed: 200, rows: 200 }]);
});

it('an entry that two complete polls in a row do not list is gone since the first, and may come back', async () => {
  const [a, b] = [assetOf('a', 1), assetOf('b', 2)];
  await poll(database, at(0), [a, b]);
  await poll(database, at(1), [a]);
  expect(await stateNow()).toMatchObject([{ gone_since: null }, { gone_since: null }]);
  expect((await poll(database, at(2), [a])).at(-1)).toMatchObject({ gone: 1 });
  expect(await stateNow()).toMatchObject([
    { gone_since: null },
    { asset: 'b', rank: 2, time: at(0), gone_since: at(1) },
  ]);
  expect((await poll(database, at(3), [a])).at(-1)).toMatchObject({ gone: 0 });
  await poll(database, at(4), [a, b]);
  expect(await stateNow()).toMatchObject([{}, { asset: 'b', rank: 2, time: at(4), gone_since: null }]);
  expect(await stateAt(at(1) - 1)).toMatchObject([{}, { gone_since: null }]);
  // The poll at 2 confirmed that b is gone: until then nobody knew.
  expect(await stateAt(at(2) - 1)).toMatchObject([{}, { time: at(0), gone_since: null }]);
  for (const n of [2, 3]) expect(await stateAt(at(n))).toMatchObject([{}, { time: at(0), gone_since: at(1) }]);
  const kept = await database.pool.query(`select time, gone from asset_snapshots where asset = 'b' order by time`);
  expect(kept.rows).toEqual([
    { time: at(0), gone: false },
    { time: at(1), gone: true },
    { time: at(4), gone: false },
  ]);
});

it('a suddenly empty list is gone only after the time that confirms an empty window', async () => {
  const rows = many(30);
  const gone = async () => (await database.pool.query('select from assets where gone_since is not null')).rowCount;
  await poll(database, at(0), rows);
  for (const n of [1, 2, 3]) await poll(database, at(n), []);
  expect(await gone()).toBe(0);
  await poll(database, at(1) + hourMs, []);
  expect(await gone()).toBe(30);
});

it('a source that silently caps pages is read to its end, and so is one that ignores the offset', async () => {
  const all = many(25);
  const capped = [all.slice(0, 10), all.slice(10, 20), all.slice(20)];
  const verdicts = async (n: number, pages: (typeof all)[]) =>
    (await poll(database, at(n), ...pages)).map(({ verdict }) => verdict);
  expect(await verdicts(0, capped)).toEqual(['page', 'page', 'page', 'last']);
  // Ten rows are now known to come at once, and there were 25.
  expect(await verdicts(1, capped)).toEqual(['page', 'page', 'last']);
  // Nine rows might be all, if there had not been more before.
  expect(await verdicts(2, [all.slice(0, 9), all.slice(9, 18), all.slice(18)])).toEqual(['page', 'page', 'last']);
  expect(await verdicts(3, [all, all, all])).toEqual(['page', 'last']);
  expect(await count('assets where gone_since is null')).toBe(25);
});

it('a row that shifts between two pages counts once, and a page that comes twice counts once', async () => {
  const rows = [assetOf('a', 1), assetOf('b', 2), assetOf('c', 3)];
  await beginPolls.on(database.pool, { nowMs: at(0) });
  const first = await onlyPage(database);
  await answerPage(database, first, rows.slice(0, 2), { timeMs: at(0) });
  expect(await answerPage(database, first, rows.slice(0, 2), { timeMs: at(0) })).toMatchObject({ verdict: 'unneeded' });
  const second = await onlyPage(database);
  expect(second.firstRow).toBe(2);
  const shifted = [assetOf('b', 3), assetOf('c', 4)];
  await answerPage(database, second, shifted, { timeMs: at(0) + 2000 });
  await answerPage(database, await onlyPage(database), [], { timeMs: at(0) + 4000 });
  expect(await openPages(database)).toEqual([]);
  expect(await stateNow()).toMatchObject([{ rank: 1 }, { rank: 2, time: at(0) }, { rank: 4, time: at(0) }]);
  expect(await count(`tidemark.fetches where verdict = 'unneeded'`)).toBe(1);
});

it('a copy of an older answer ends its poll and stores nothing', async () => {
  await poll(database, at(1), [assetOf('a', 1)]);
  const old = { timeMs: at(0), nowMs: at(2) };
  expect(await answerNext([assetOf('a', 7)], old)).toMatchObject({ verdict: 'stale' });
  expect(await openPages(database)).toEqual([]);
  expect(await count('asset_snapshots')).toBe(1);
  expect(await count('polls where given_up_at is not null and reason is not null')).toBe(1);
});

it('a time far ahead is not used as the time of an answer', async () => {
  await answerNext([assetOf('a', 1)], { timeMs: at(0) + 400 * 24 * hourMs, nowMs: at(0) });
  expect(await stateNow()).toMatchObject([{ time: at(0) }]);
});

it('a poll with pages too far apart is given up, and the next one starts over', async () => {
  await poll(database, at(0), [assetOf('a', 1), assetOf('b', 2)]);
  await answerNext([assetOf('a', 5)], { timeMs: at(1) });
  const late = { timeMs: at(1) + hourMs };
  expect(await answerPage(database, await onlyPage(database), [], late)).toMatchObject({ verdict: 'cut_off' });
  // The received rows are stored, and the others are not missing.
  expect(await stateNow()).toMatchObject([
    { rank: 5, time: at(1) },
    { rank: 2, gone_since: null },
  ]);
  expect(await count('tidemark.listed_assets where missed_since is not null')).toBe(0);
  await beginPolls.on(database.pool, { nowMs: at(1) + hourMs });
  expect(await onlyPage(database)).toMatchObject({ firstRow: 0 });
});

it('an unreadable row is quarantined, and its entry is not marked as gone', async () => {
  await poll(database, at(0), [assetOf('a', 1), assetOf('b', 2), assetOf('c', 3)]);
  const pollBeside = async (n: number, raw: string) => {
    const rejected = [{ raw, reason: 'unreadable' }];
    await answerNext([assetOf('a', 1)], { timeMs: at(n), rejected });
    const rest = await onlyPage(database);
    expect(rest.firstRow).toBe(2);
    await answerPage(database, rest, [], { timeMs: at(n) });
  };
  for (const n of [1, 2, 3]) await pollBeside(n, '{"id":"b","rank":"two"}');
  expect(await stateNow()).toMatchObject([
    { gone_since: null },
    { asset: 'b', gone_since: null },
    { asset: 'c', gone_since: at(1) },
  ]);
  expect(await count('tidemark.quarantine')).toBe(1);
  // A row without a key may belong to any entry.
  for (const n of [4, 5, 6]) await pollBeside(n, '7');
  expect(await stateNow()).toMatchObject([{}, { asset: 'b', gone_since: null }, {}]);
});

it('a page that cannot be stored leaves nothing behind', async () => {
  await poll(database, at(0), [assetOf('a', 1)]);
  await beginPolls.on(database.pool, { nowMs: at(1) });
  const page = await onlyPage(database);
  const bad = { ...assetOf('c', 3), rank: 2 ** 70 };
  await expect(answerPage(database, page, [assetOf('b', 2), bad], { timeMs: at(1) })).rejects.toThrow(/bigint/);
  expect(await count('tidemark.listed_assets')).toBe(1);
  expect(await count('asset_snapshots')).toBe(1);
  expect(await onlyPage(database)).toEqual(page);
});

it('polls begin once when they are due, and the pause after failures grows', async () => {
  await beginPolls.on(database.pool, { nowMs: at(0) });
  await Promise.all([beginPolls.on(database.pool, { nowMs: at(0) }), beginPolls.on(database.pool, { nowMs: at(0) })]);
  const { pollId } = await onlyPage(database);
  const failure = { pollId, message: 'GET /v2/assets: status 404', nowMs: at(2), latestMs: at(2) + hourMs };
  expect(await failPoll(database, failure)).toBe(true);
  expect(await failPoll(database, failure)).toBe(false);
  // It has failed for twice its interval by then, and its pause is as long.
  await beginPolls.on(database.pool, { nowMs: at(4) - 1 });
  expect(await openPages(database)).toEqual([]);
  await beginPolls.on(database.pool, { nowMs: at(4) });
  const second = await onlyPage(database);
  await failPoll(database, { ...failure, pollId: second.pollId, nowMs: at(4), latestMs: at(4) + 1 });
  await beginPolls.on(database.pool, { nowMs: at(5) - 1 });
  expect(await openPages(database)).toEqual([]);
  await beginPolls.on(database.pool, { nowMs: at(0) + hourMs });
  await onlyPage(database);
  expect(await untrackList(database, assets, at(20))).toBe(true);
  expect(await untrackList(database, assets, at(20))).toBe(false);
  expect(await openPages(database)).toEqual([]);
  await beginPolls.on(database.pool, { nowMs: at(40) });
  expect(await openPages(database)).toEqual([]);
});
