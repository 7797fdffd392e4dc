/** Every command says on standard error what it does while a database, a queue or a source does not answer. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { waitFor } from '../parts/wait-for.ts';
import { emptyDirectory, start } from './command.ts';
import { openWatched } from './commands/watch-list-parts.ts';
import type { RunningInProcess } from './in-process.ts';

const hours = 'candles --exchange binance --base bitcoin --quote tether --interval h1';
const days = '--from 2024-03-01 --to 2024-03-05';

async function untilSaid(running: RunningInProcess, phase: RegExp): Promise<void> {
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  await waitFor(`standard error to match ${phase}`, () => hasEnded || phase.test(running.stderr()));
  expect(running.stderr()).toMatch(phase);
}

/** @returns the port of a server that takes connections and never answers. */
async function silentServer(): Promise<number> {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

it('says that the database does not answer, and until when it is waited for', async () => {
  const port = await silentServer();
  const env = { DATABASE_URL: `postgres://someone:secret@127.0.0.1:${port}/data` };
  const phase = new RegExp(
    `^tidemark: connecting to the database at 127.0.0.1:${port} until [\\d: -]+Z, .* so far$`,
    'm',
  );
  for (const command of ['status --json', 'migrate']) {
    const running = start(command.split(' '), env);
    await untilSaid(running, phase);
    running.kill('SIGKILL');
    expect(running.stdout()).toBe('');
    expect(running.stderr()).not.toContain('secret');
  }
  // A process that runs until it is stopped logs it.
  await untilSaid(start(['serve'], env), /^\{"level":"info",.*"msg":"connecting to the database at .* so far"\}$/m);
});

it('says that the queue does not answer', async () => {
  const { begin } = await openWatched();
  const running = begin('status --json', { REDIS_URL: `redis://127.0.0.1:${await silentServer()}` });
  await untilSaid(running, /^tidemark: connecting to the queue on Redis, .* so far$/m);
});

it('says what it waits for while tables are locked, and prints a whole document afterwards', async () => {
  const { database, beginHere, say, write } = await openWatched();
  write('candles: [{exchange: binance, base: bitcoin, quote: tether, interval: h1, from: 2024-03-01}]');
  const file = join(emptyDirectory(), 'points.csv');
  await say(`backfill ${hours} ${days}`);
  await say(`export ${hours} ${days} --out ${file}`);
  const lock = await database.pool.connect();
  onTestFinished(() => lock.release());
  for (const command of [
    ...['status --json', 'why 1', 'verify --json', 'apply --json'],
    ...[`backfill ${hours} ${days} --json`, `backfill ${hours} ${days} --dry-run --json`],
    ...[`export ${hours} ${days} --out ${file} --json`, `import ${file} --json`],
  ]) {
    await lock.query('begin');
    await lock.query(`do $$ declare name text; begin
      for name in select tablename from pg_tables where schemaname = 'tidemark' and tablename <> 'migrations' loop
        execute format('lock table tidemark.%I in access exclusive mode', name);
      end loop; end $$`);
    const running = beginHere(command);
    await untilSaid(running, /^tidemark: .* so far$/m);
    const before = running.stdout();
    await lock.query('rollback');
    const { exitCode, stdout, stderr } = await running.ended;
    expect([command, before, exitCode, stderr]).toEqual([command, '', 0, '']);
    if (command.includes('--json')) expect(JSON.parse(stdout)).toBeTypeOf('object');
  }
});

it('reports the windows of verify and backfill while the source does not answer', async () => {
  const { begin, run, simulator } = await openWatched();
  expect(await run(`backfill ${hours} ${days}`)).toMatchObject({ exitCode: 0 });
  simulator.setFaults({ timeoutRate: 1 });
  const soon = { SOURCE_TIMEOUT_SECONDS: '3' };
  const verifying = begin('verify --json', soon);
  await untilSaid(verifying, /^verify 0 of 1 windows/m);
  const filling = begin(`backfill ${hours} --from 2024-03-01 --to 2024-03-09 --json`, soon);
  await untilSaid(filling, /^backfill: 1 of 1 request to go/m);
  for (const running of [verifying, filling]) {
    running.kill('SIGINT');
    const { exitCode, stdout } = await running.ended;
    expect(exitCode).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ interrupted: true });
  }
});
