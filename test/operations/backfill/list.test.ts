import { expect, it } from 'vitest';
import { dayMs } from '../../../model/intervals.ts';
import type { Range } from '../../../model/ranges.ts';
import { listBackfills } from '../../../operations/backfill/list.ts';
import { readRegistry } from '../../../runtime/sources.ts';
import { readConfig } from '../../../settings/config.ts';
import { insertBackfill, settleBackfills } from '../../../store/ledger/backfills.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { openOwnStore } from '../../store/open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const day = (index: number) => startMs + index * dayMs;
const days = (from: number, to: number): Range => ({ startMs: day(from), endMs: day(to) });
const nowMs = day(100);

/** A backfill of the watch list for ten days of two series. */
async function watched() {
  const { database } = await openOwnStore();
  const config = readConfig({});
  const registry = await readRegistry(config);
  const context = { database, sources: async () => registry, config };
  const seriesIds: number[] = [];
  for (const baseId of ['bitcoin', 'ethereum'])
    seriesIds.push((await trackSeries(database, { ...bitcoinHours, baseId }, day(0), day(10))).seriesId);
  const series = seriesIds.map((seriesId) => ({ seriesId, range: days(0, 10), before: null, after: days(0, 10) }));
  await insertBackfill(database.pool, { kind: 'watch_list', by: 'watch list', series }, { nowMs, isAlive: false });
  const set = async (index: number, column: 'tracked' | 'covered', { startMs, endMs }: Range) => {
    const range = 'tstzrange(to_timestamp($2), to_timestamp($3))';
    await database.pool.query(
      `update tidemark.series set ${column} = ${column === 'covered' ? `tstzmultirange(${range})` : range} where id = $1`,
      [seriesIds[index], startMs / 1000, endMs / 1000],
    );
  };
  return {
    database,
    cover: (index: number, range: Range) => set(index, 'covered', range),
    narrow: (index: number, range: Range) => set(index, 'tracked', range),
    untrack: (index: number) =>
      database.pool.query('update tidemark.series set untracked_at = now() where id = $1', [seriesIds[index]]),
    async line() {
      const [found] = await listBackfills(context, null, { nowMs, id: null, most: 10 });
      const { state, result, progress, left } = found ?? {};
      return { state, result, progress, left };
    },
    settle: () => settleBackfills.on(database.pool, { nowMs }),
  };
}

const ended = { progress: null, left: null };

it('ends one of which the rest is no longer tracked, also in the record', async () => {
  const { cover, narrow, untrack, line, settle } = await watched();
  await cover(0, days(5, 10));
  await narrow(0, days(5, 10));
  await settle();
  expect(await line()).toMatchObject({ state: 'interrupted', result: 'nobody goes on with it' });
  await untrack(1);
  const done = { state: 'done', result: 'complete; the rest is no longer tracked', ...ended };
  expect(await line()).toEqual(done);
  await settle();
  expect(await line()).toEqual(done);
});

it('ends one of which nothing is tracked any more', async () => {
  const { cover, narrow, untrack, line, settle } = await watched();
  await cover(0, days(2, 3));
  // The watch list asks for newer days only.
  await narrow(0, days(10, 20));
  await untrack(1);
  const over = { state: 'interrupted', result: 'no longer tracked', ...ended };
  expect(await line()).toEqual(over);
  await settle();
  expect(await line()).toEqual(over);
});

it('ends one of which no source gives the rest', async () => {
  const { database, cover, line } = await watched();
  for (const index of [0, 1]) await cover(index, days(5, 10));
  expect(await line()).toMatchObject({ state: 'interrupted', left: 2 });
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     select id, tstzrange(to_timestamp($1), to_timestamp($2)), 'beyond_depth', 'too old', now(), '2100-01-01'
     from tidemark.series`,
    [day(0) / 1000, day(5) / 1000],
  );
  expect(await line()).toEqual({ state: 'done', result: 'complete but for 2 ranges that no source gives', ...ended });
});
