/** Every document of --json, in several states, against its schema. */

import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { documents } from '../../scripts/output/documents.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyDirectory } from './command.ts';
import { openWatched, type Watched } from './commands/watch-list-parts.ts';

const market = 'candles --exchange binance --base bitcoin --quote tether';
const hours = `${market} --interval h1`;

/** Runs a command and checks each of its documents. @returns the last one. */
async function check(
  { run }: Watched,
  name: keyof typeof documents,
  words: string,
  exitCode = 0,
  env: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const ended = await run(`${words} --json`, env);
  expect([words, ended.exitCode, ended.stderr]).toEqual([
    words,
    exitCode,
    exitCode === 0 ? '' : ended.stderr,
  ]);
  const lines = name === 'track' ? ended.stdout.trim().split('\n') : [ended.stdout];
  const parsed = lines.map((line) => {
    const document: unknown = JSON.parse(line);
    const result = documents[name].safeParse(document);
    expect([words, result.error?.issues ?? []]).toEqual([words, []]);
    return document;
  });
  return parsed.at(-1) as Record<string, unknown>;
}

async function checkWatch({ begin }: Watched): Promise<Record<string, unknown>> {
  const running = begin('status --watch --json');
  await waitFor('a document', () => running.stdout().includes('\n'));
  running.kill('SIGTERM');
  const [line = ''] = (await running.ended).stdout.split('\n');
  expect(documents['status-watch'].safeParse(JSON.parse(line)).error?.issues ?? []).toEqual([]);
  return JSON.parse(line);
}

it('documents of an empty store follow their schemas', async () => {
  const watched = await openWatched();
  watched.write('candles: []');
  for (const name of ['status', 'gaps', 'plan', 'verify', 'repair', 'apply'] as const)
    await check(watched, name, name);
  await check(watched, 'keys', 'keys list');
  expect(await checkWatch(watched)).toMatchObject({ groups: [] });
});

it('documents of a filled store, of differences and of gaps follow their schemas', async () => {
  const watched = await openWatched();
  const { run, database, simulator } = watched;
  await check(watched, 'track-list', 'track asset-markets --asset bitcoin --every 1h');
  await check(watched, 'track-list', 'track assets');
  await check(watched, 'track', `track ${market} --interval m1,h1 --from 2d`);
  await check(watched, 'track', 'track history --asset bitcoin --interval d1 --from 30d');
  await check(watched, 'plan', `backfill ${hours} --from 2024-03-01 --dry-run`);
  await check(watched, 'backfill', `backfill ${hours} --from 2024-03-01 --to 2024-03-05`);
  await check(watched, 'backfill', 'backfill history --asset bitcoin --interval d1 --from 30d');
  expect(await check(watched, 'status', 'status')).toMatchObject({
    series: { length: 3 },
    lists: { length: 2 },
  });
  expect(await check(watched, 'gaps', 'gaps')).toMatchObject({ gaps: [{ reason: 'not_asked' }, {}] });
  await check(watched, 'plan', 'plan');
  expect(await run('keys issue --name somebody')).toMatchObject({ exitCode: 0 });
  expect(await check(watched, 'keys', 'keys list')).toHaveLength(1);
  expect(await run('retention set history 25d --confirm history')).toMatchObject({ exitCode: 0 });
  await check(watched, 'status', 'status');

  const file = join(emptyDirectory(), 'points.csv');
  await check(watched, 'export', `export ${hours} --from 2024-03-01 --to 2024-03-05 --out ${file}`);
  await check(watched, 'import', `import ${file}`);
  expect(await check(watched, 'verify', 'verify --all')).toMatchObject({ differing: 0 });
  await database.pool.query(
    `update tidemark.candle_points set open = open + 1 where time = '2024-03-02T05:00Z'`,
  );
  await database.pool.query(`delete from tidemark.candle_points where time = '2024-03-02T09:00Z'`);
  expect(await check(watched, 'import', `import ${file}`, 7)).toMatchObject({ differences: { length: 1 } });
  await database.pool.query(`delete from tidemark.candle_points where time = '2024-03-02T09:00Z'`);
  expect(await check(watched, 'verify', 'verify --all', 7)).toMatchObject({ differences: { length: 2 } });
  expect(await check(watched, 'repair', 'repair')).toMatchObject({ fresh: 1, revised: 1 });

  watched.write(`retention: {candles: 10y}
read-again: {days: 3}
candles: [{exchange: binance, base: bitcoin, quote: tether, interval: [m1, h1], from: 2024-02-01}]
history: [{asset: bitcoin, interval: h1, from: 90d}]`);
  expect(await check(watched, 'apply', 'apply --dry-run')).toMatchObject({ applied: false });
  expect(await check(watched, 'apply', 'apply --prune')).toMatchObject({ applied: true });

  simulator.setFaults({ emptyRate: 1 });
  const later = `backfill ${hours} --from 2024-03-01 --to 2024-03-09`;
  expect(await check(watched, 'backfill', later, 9)).toMatchObject({ awaiting: 1 });
  await check(watched, 'gaps', 'gaps');
  await check(watched, 'status', 'status');

  const target = await createMigratedDatabase('plain');
  onTestFinished(target.drop);
  await check(watched, 'move', `move --to ${target.url}`);
});

it('documents of an outage and of rejected rows follow their schemas', async () => {
  const watched = await openWatched();
  const { simulator, database } = watched;
  await check(watched, 'backfill', `backfill ${hours} --from 2024-03-01 --to 2024-03-03`);
  await database.pool.query(
    `insert into tidemark.quarantine (seen_at, dataset, series_id, time, reason, raw)
     values (now(), 'candles', 1, '2024-03-04T00:00Z', 'open is below low', '{}')`,
  );
  simulator.setFaults({ errorRate: 1 });
  const running = watched.begin(`backfill ${market} --interval m1 --from 2024-03-01 --to 2024-03-20 --json`, {
    WORKER_ATTEMPTS: '1',
    FAILED_RETRY_SECONDS: '3600',
  });
  const failures = `select count(*)::int as failed from tidemark.fetches where verdict = 'server_error'`;
  await waitFor('failures', async () => (await database.pool.query(failures)).rows[0]?.failed >= 4);
  running.kill('SIGINT');
  const interrupted = JSON.parse((await running.ended).stdout);
  expect(documents.backfill.safeParse(interrupted).error?.issues ?? []).toEqual([]);
  expect(interrupted).toMatchObject({ interrupted: true });
  expect(await check(watched, 'status', 'status')).toMatchObject({ sourceOutage: { kind: 'server_error' } });
  expect(await check(watched, 'gaps', 'gaps')).toMatchObject({
    gaps: expect.arrayContaining([expect.objectContaining({ reason: 'failed' })]),
    quarantined: [{}],
  });
  expect(await checkWatch(watched)).toMatchObject({ failures: { server_error: expect.any(Number) } });
});
