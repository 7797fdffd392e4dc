/** Runs the commands of docs/operations.md for what a person does on day two. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { trackSeries } from '../../store/series/series.ts';
import { dumpPrograms } from '../parts/dump-programs.ts';
import { queueBeside } from '../parts/test-database.ts';
import { processesMs } from '../scripts/command.ts';
import { openWatched, type Watched } from '../scripts/commands/watch-list-parts.ts';
import { commitPoints } from '../store/committing.ts';
import { blockOf, runBlock } from './shell-blocks.ts';

const page = 'docs/operations.md';
const programs = dumpPrograms();
const folder = typeof programs === 'string' ? '/usr/bin' : programs.folder;
const noPsql = existsSync(join(folder, 'psql')) ? '' : 'there is no psql';
const limit = { timeout: processesMs };

function run(world: Watched, title: string, more: Record<string, string> = {}) {
  const { redisUrl, namespace } = queueBeside(world.url);
  const queue = redisUrl === undefined ? {} : { REDIS_URL: redisUrl, QUEUE_NAMESPACE: namespace };
  const env = { ...queue, ...world.env, DATABASE_URL: world.url, ...more };
  return runBlock(blockOf(page, title), { folder, cwd: world.directory, env });
}

async function runs(world: Watched, title: string, more: Record<string, string> = {}): Promise<string> {
  const ended = await run(world, title, more);
  expect(ended, ended.printed).toMatchObject({ exitCode: 0 });
  return ended.printed;
}

const dayOf = (market: string) => ({
  dataset: 'candles' as const,
  ...{ exchange: 'binance', baseId: market, quoteId: 'tether', interval: 'd1' as const },
});

it('a series is deleted with its data only where somebody confirms it', limit, async () => {
  const world = await openWatched();
  const series = { ...dayOf('bitcoin'), exchange: 'kraken', quoteId: 'euro', interval: 'h1' as const };
  const startMs = Date.UTC(2024, 2, 1);
  const { seriesId } = await trackSeries(world.database, series, startMs, null);
  await commitPoints(world.database, { seriesId, series, window: { startMs, endMs: startMs + dayMs } });
  const ended = await run(world, 'A series with its data');
  expect(ended).toMatchObject({ exitCode: 2 });
  expect(ended.printed).toMatch(/24 points from 2024-03-01 .*add --yes to confirm/);
  expect(await world.query('select count(*)::int as n from tidemark.candle_points')).toEqual([{ n: 24 }]);
});

it.skipIf(noPsql !== '')(`a view joins a market before and after its new name ${noPsql}`, limit, async () => {
  const world = await openWatched();
  const { database } = world;
  const atMs = Date.UTC(2024, 8, 13);
  const store = async (market: string, startMs: number, endMs: number) => {
    const series = dayOf(market);
    const { seriesId } = await trackSeries(database, series, startMs, null);
    await commitPoints(database, { seriesId, series, window: { startMs, endMs } });
  };
  // Both have the days around the change.
  await store('matic', atMs - 10 * dayMs, atMs + 2 * dayMs);
  await store('pol', atMs - 2 * dayMs, atMs + 10 * dayMs);
  await runs(world, 'One market after the other');
  const days = await world.query(
    `select base, min(time)::text as first, max(time)::text as last, count(*)::int as n, count(distinct time)::int as days
     from matic_pol group by base order by base`,
  );
  expect(days).toEqual([
    { base: 'matic', first: '2024-09-03 00:00:00+00', last: '2024-09-12 00:00:00+00', n: 10, days: 10 },
    { base: 'pol', first: '2024-09-13 00:00:00+00', last: '2024-09-22 00:00:00+00', n: 10, days: 10 },
  ]);
  expect(await world.series()).toEqual([
    expect.stringMatching(/matic.*untracked/),
    expect.not.stringContaining('untracked'),
  ]);
});
