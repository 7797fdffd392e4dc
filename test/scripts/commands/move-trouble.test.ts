import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import pg from 'pg';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { Database } from '../../../store/db/database.ts';
import { databaseAt } from '../../faults/database-away.ts';
import { databaseOnSmallDisk, describeWithSmallDisk } from '../../parts/small-disk.ts';
import { createTestDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { type TestStore, useStore } from '../../store/open-store.ts';
import { type Running, start, tidemark } from '../command.ts';
import { openStore } from './export-store.ts';
import { everyRow, fillEverything } from './move-store.ts';

vi.setConfig({ testTimeout: 600_000 });

const lastLine = (stderr: string) => stderr.trimEnd().split('\n').at(-1) ?? '';

async function rowsIn(database: Database): Promise<number> {
  return Object.values(await everyRow(database)).flat().length;
}

/** Every test moves from here, and none changes it. */
const source = useStore();
let env: Record<string, string>;
let before: Record<string, string[]>;
beforeAll(async () => {
  env = { DATABASE_URL: source.url };
  await fillEverything(source.database);
  before = await everyRow(source.database);
});

const moveTo = (url: string) => ['move', '--to', url];

/** Lets moves come to the last of their tables, with all others copied, and no further until they are let go. */
async function holdMovesTo(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`
    create function public.hold() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4711); return null; end $$;
    create trigger hold before insert on tidemark.settings execute function public.hold()`);
  const moves = async (condition: string) => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'tidemark move' and ${condition}`,
    );
    return rowCount ?? 0;
  };
  return {
    async begin(): Promise<Running> {
      await client.query('select pg_advisory_lock(4711)');
      const running = start(moveTo(url), env);
      await waitFor('the move', async () => (await moves(`wait_event = 'advisory'`)) > 0);
      return running;
    },
    async letGo() {
      await client.query('select pg_advisory_unlock(4711)');
      await waitFor('the end of its connections', async () => (await moves('true')) === 0);
    },
    remove: () => client.query('drop trigger hold on tidemark.settings; drop function public.hold()'),
  };
}

const terminate = ({ database }: Pick<TestStore, 'database'>) =>
  database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'tidemark move'`,
  );

it('blocks writes and allows reads while it copies, leaves the target empty when it is killed, stopped or cut off, and copies everything the next time', async () => {
  const target = await openStore('main');
  const { begin, letGo, remove } = await holdMovesTo(target.url);
  const ways: [(running: Running) => unknown, number | null, RegExp][] = [
    [({ kill }) => kill('SIGKILL'), null, /^/],
    [
      ({ kill }) => kill('SIGINT'),
      130,
      /^tidemark: INTERRUPTED: stopped before everything was moved; the target is unchanged; run the same command again: it starts over$/,
    ],
    [
      () => terminate(target),
      5,
      /^tidemark: DATABASE_UNREACHABLE: the target: .+; check the address after --to, .+; nothing was moved$/,
    ],
    [() => terminate(source).then(letGo), 5, /^tidemark: DATABASE_UNREACHABLE: (?!the target).+; check DATABASE_URL/],
  ];
  for (const [interrupt, exitCode, line] of ways) {
    const running = await begin();
    const writing = source.database.pool.query(`set lock_timeout = '100ms'; delete from tidemark.candle_points`);
    await expect(writing).rejects.toThrow(/lock timeout/);
    expect(await tidemark(['gaps'], env)).toMatchObject({ exitCode: 0 });
    await interrupt(running);
    const ended = await running.ended;
    expect(lastLine(ended.stderr)).toMatch(line);
    expect(ended).toMatchObject({ exitCode, stdout: '' });
    await letGo();
    expect(await rowsIn(target.database)).toBe(0);
    expect(await everyRow(source.database)).toEqual(before);
  }
  await remove();
  expect(await tidemark(moveTo(target.url), env)).toMatchObject({ exitCode: 0 });
  expect(await everyRow(target.database)).toEqual(before);
});

it('detects rows that the target changed, and removes them', async () => {
  const target = await openStore('main');
  await target.database.pool.query(`
    create function public.rounded() returns trigger language plpgsql as
      $$ begin new.close := trim_scale(new.close); return new; end $$;
    create trigger rounded before insert on tidemark.candle_points for each row execute function public.rounded()`);
  const ended = await tidemark(moveTo(target.url), env);
  expect(lastLine(ended.stderr)).toMatch(
    /^tidemark: MOVE_DIFFERS: tidemark\.candle_points: \d+ rows, not all of them the same; nothing was moved; /,
  );
  expect(ended).toMatchObject({ exitCode: 7, stdout: '' });
  expect(await rowsIn(target.database)).toBe(0);
});

it('is rejected for its target, and while another process works on either side, in one line each', async () => {
  const target = await openStore('main');
  const empty = await createTestDatabase();
  onTestFinished(() => empty.drop());
  const working = async (url: string, name: string) => {
    const client = new pg.Client({ connectionString: url, application_name: `tidemark ${name}` });
    await client.connect();
    return client;
  };
  const rejects = async (to: string, exitCode: number, line: RegExp) => {
    const ended = await tidemark(moveTo(to), env);
    expect(ended.stderr).toMatch(new RegExp(`^tidemark: ${line.source}.*\n$`));
    expect(ended).toMatchObject({ exitCode, stdout: '' });
  };
  for (const [at, name, line] of [
    [source, 'worker', /DATABASE_IN_USE: in use by worker; stop it first/],
    [target, 'backfill', /DATABASE_IN_USE: the target is in use by backfill; /],
  ] as const) {
    const client = await working(at.url, name);
    await rejects(target.url, 5, line);
    await client.end();
  }

  await target.database.pool.query(`insert into tidemark.currencies (currency, symbol, type) values ('a', 'b', 'c')`);
  for (const [to, line, exitCode] of [
    // Another name for the same server does not make it another database.
    [
      Object.assign(new URL(source.url), { search: '?application_name=other' }).href,
      /BAD_ARGUMENT: --to names the source database; /,
      2,
    ],
    [
      empty.url,
      /DATABASE_NOT_MIGRATED: the target: the database holds no Tidemark schema; run `tidemark migrate` with/,
      5,
    ],
    [target.url, /TARGET_NOT_EMPTY: the target is not empty: tidemark\.currencies; /, 5],
  ] as const)
    await rejects(to, exitCode, line);
  expect(await everyRow(source.database)).toEqual(before);
});

describeWithSmallDisk('the disk of the target fills up', () => {
  it('ends in one line, frees the space, and works when there is more', async (context) => {
    const larger = await openStore('main');
    await fillEverything(larger.database);
    await larger.database.pool.query(
      `insert into tidemark.candle_points
       select 4, '2020-01-01Z'::timestamptz + make_interval(mins => n), n, n, n, n, n + 0.12345678901234567890 from generate_series(1, 300000) n`,
    );
    const { url, disk, filler } = await databaseOnSmallDisk(context, 40);
    const target = databaseAt(url);
    const ended = await tidemark(moveTo(url), larger.env);
    expect(lastLine(ended.stderr)).toMatch(
      /^tidemark: DATABASE_FULL: the target: .*No space left on device.*; free disk space there, .+; nothing was moved$/,
    );
    expect(ended).toMatchObject({ exitCode: 5, stdout: '' });
    expect(await rowsIn(target)).toBe(0);
    // What the failed one took is free again: nearly all of the disk can be written.
    await waitFor('the space', () => {
      try {
        writeFileSync(filler, Buffer.alloc(16 * 1024 * 1024));
        return true;
      } catch {
        return false;
      } finally {
        rmSync(filler, { force: true });
      }
    });
    execFileSync('mount', ['-o', 'remount,size=400m', disk]);
    expect(await tidemark(moveTo(url), larger.env)).toMatchObject({ exitCode: 0 });
    expect(await rowsIn(target)).toBe(await rowsIn(larger.database));
  });
});
