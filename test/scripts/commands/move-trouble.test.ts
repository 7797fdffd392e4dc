import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import pg from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Database } from '../../../store/db/database.ts';
import { databaseAt } from '../../faults/database-away.ts';
import { freePort } from '../../parts/free-port.ts';
import { databaseOnSmallDisk, describeWithSmallDisk } from '../../parts/small-disk.ts';
import { createTestDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { start, tidemark } from '../command.ts';
import { openStore } from './export-store.ts';
import { everyRow, fillEverything } from './move-store.ts';

// Each runs several commands, one after the other.
vi.setConfig({ testTimeout: 180_000 });

const lastLine = (stderr: string) => stderr.trimEnd().split('\n').at(-1) ?? '';

async function rowsIn(database: Database): Promise<number> {
  return Object.values(await everyRow(database)).flat().length;
}

/** Lets a move come to the last of its tables, with all others copied, and no further until it is let go. */
async function holdMoveTo({ url }: { url: string }) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`
    create function public.hold() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4711); return null; end $$;
    create trigger hold before insert on tidemark.settings execute function public.hold();
    select pg_advisory_lock(4711);`);
  const moves = async (condition: string) => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'tidemark move' and ${condition}`,
    );
    return rowCount ?? 0;
  };
  return {
    arrived: () => waitFor('the move', async () => (await moves(`wait_event = 'advisory'`)) > 0),
    terminate: () =>
      client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'tidemark move' and state <> 'idle'`,
      ),
    async letGo() {
      await client.query('select pg_advisory_unlock(4711)');
      await waitFor('the end of its connections', async () => (await moves('true')) === 0);
    },
    remove: () => client.query('drop trigger hold on tidemark.settings; drop function public.hold()'),
  };
}

async function heldMove() {
  const [source, target] = [await openStore('main'), await openStore('main')];
  await fillEverything(source.database);
  const before = await everyRow(source.database);
  const hold = await holdMoveTo(target);
  const running = start(['move', '--to', target.url], source.env);
  await hold.arrived();
  const expectNothingMoved = async () => {
    await hold.letGo();
    expect(await rowsIn(target.database)).toBe(0);
    expect(await everyRow(source.database)).toEqual(before);
  };
  const expectMovedAgain = async () => {
    await hold.remove();
    const again = await tidemark(['move', '--to', target.url], source.env);
    expect(again).toMatchObject({ exitCode: 0 });
    expect(await everyRow(target.database)).toEqual(before);
  };
  return { source, target, hold, running, expectNothingMoved, expectMovedAgain };
}

describe('an interrupted move', () => {
  it('leaves the target empty when killed, and the next move copies everything', async () => {
    const { running, expectNothingMoved, expectMovedAgain } = await heldMove();
    running.kill('SIGKILL');
    await running.ended;
    await expectNothingMoved();
    await expectMovedAgain();
  });

  it('ends in one line when the target is lost', async () => {
    const { hold, running, expectNothingMoved } = await heldMove();
    await hold.terminate();
    const ended = await running.ended;
    expect(lastLine(ended.stderr)).toMatch(
      /^tidemark: DATABASE_UNREACHABLE: the target: .+; check the address after --to, .+; nothing was moved$/,
    );
    expect(ended).toMatchObject({ exitCode: 5, stdout: '' });
    await expectNothingMoved();
  });

  it('ends in one line when the source is lost', async () => {
    const { source, hold, running, expectNothingMoved } = await heldMove();
    await source.database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = 'tidemark move'`,
    );
    await hold.letGo();
    const ended = await running.ended;
    expect(lastLine(ended.stderr)).toMatch(
      /^tidemark: DATABASE_UNREACHABLE: (?!the target).+; check DATABASE_URL/,
    );
    expect(ended).toMatchObject({ exitCode: 5, stdout: '' });
    await expectNothingMoved();
  });

  it('blocks writes to the source, and allows reads', async () => {
    const { source, running, expectNothingMoved } = await heldMove();
    const writing = source.database.pool.query(
      `set lock_timeout = '100ms'; delete from tidemark.candle_points`,
    );
    await expect(writing).rejects.toThrow(/lock timeout/);
    expect(await tidemark(['gaps'], source.env)).toMatchObject({ exitCode: 0 });
    running.kill('SIGINT');
    const ended = await running.ended;
    expect(lastLine(ended.stderr)).toBe(
      'tidemark: INTERRUPTED: stopped before everything was moved; the target is unchanged; run the same command again: it starts over',
    );
    expect(ended).toMatchObject({ exitCode: 130, stdout: '' });
    await expectNothingMoved();
  });

  it('detects rows that the target changed, and removes them', async () => {
    const [source, target] = [await openStore('main'), await openStore('main')];
    await fillEverything(source.database);
    await target.database.pool.query(`
          create function public.rounded() returns trigger language plpgsql as
            $$ begin new.close := trim_scale(new.close); return new; end $$;
          create trigger rounded before insert on tidemark.candle_points for each row execute function public.rounded()`);
    const ended = await tidemark(['move', '--to', target.url], source.env);
    expect(lastLine(ended.stderr)).toMatch(
      /^tidemark: MOVE_DIFFERS: tidemark\.candle_points: \d+ rows, not all of them the same; nothing was moved; /,
    );
    expect(ended).toMatchObject({ exitCode: 7, stdout: '' });
    expect(await rowsIn(target.database)).toBe(0);
  });
});

describe('a rejected move', () => {
  it('is rejected for its target, in one line each', async () => {
    const [source, target] = [await openStore('main'), await openStore('main')];
    await fillEverything(source.database);
    const before = await everyRow(source.database);
    const empty = await createTestDatabase();
    onTestFinished(() => empty.drop());
    const changed = (part: { port?: string; pathname?: string }) =>
      Object.assign(new URL(target.url), part).href;
    await target.database.pool.query(
      `insert into tidemark.currencies (currency, symbol, type) values ('a', 'b', 'c')`,
    );
    const port = await freePort();
    for (const [to, line, exitCode] of [
      [source.url, /BAD_ARGUMENT: --to names the source database; /, 2],
      [changed({ port: String(port) }), /DATABASE_UNREACHABLE: the target: .*ECONNREFUSED/, 5],
      [changed({ pathname: '/absent' }), /DATABASE_UNREACHABLE: the target: .*"absent" does not exist/, 5],
      [
        empty.url,
        /DATABASE_NOT_MIGRATED: the target: the database holds no Tidemark schema; run `tidemark migrate` with/,
        5,
      ],
      [target.url, /TARGET_NOT_EMPTY: the target is not empty: tidemark\.currencies; /, 5],
    ] as const) {
      const ended = await tidemark(['move', '--to', to], source.env);
      expect(ended.stderr).toMatch(new RegExp(`^tidemark: ${line.source}.*\n$`));
      expect(ended).toMatchObject({ exitCode, stdout: '' });
    }
    // Another name for the same server does not make it another database.
    const alias = new URL(source.url);
    alias.searchParams.set('application_name', 'other');
    expect((await tidemark(['move', '--to', alias.href], source.env)).stderr).toMatch(
      /BAD_ARGUMENT: --to names the source database/,
    );
    expect(await everyRow(source.database)).toEqual(before);
  });

  it('is rejected while a process works on either side', async () => {
    const [source, target] = [await openStore('main'), await openStore('main')];
    await fillEverything(source.database);
    await tidemark(['migrate'], source.env);
    const env = { ...source.env, SOURCE_URL: 'http://127.0.0.1:1/v2' };
    const worker = start(['worker'], env);
    await waitFor(
      'the worker',
      async () => (await tidemark(['status', '--check', 'worker'], env)).exitCode === 0,
    );
    const inUse = await tidemark(['move', '--to', target.url], env);
    expect(inUse.stderr).toMatch(/^tidemark: DATABASE_IN_USE: in use by worker; stop it first.*\n$/);
    expect(inUse).toMatchObject({ exitCode: 5, stdout: '' });
    worker.kill('SIGTERM');
    await worker.ended;

    const other = new pg.Client({ connectionString: target.url, application_name: 'tidemark backfill' });
    await other.connect();
    const targetInUse = await tidemark(['move', '--to', target.url], env);
    expect(targetInUse.stderr).toMatch(/^tidemark: DATABASE_IN_USE: the target is in use by backfill; .*\n$/);
    await other.end();
    expect(await tidemark(['move', '--to', target.url], env)).toMatchObject({ exitCode: 0 });
  });
});

describeWithSmallDisk('the disk of the target fills up', () => {
  it('ends in one line, frees the space, and works when there is more', async (context) => {
    const source = await openStore('main');
    await fillEverything(source.database);
    await source.database.pool.query(
      `insert into tidemark.candle_points
       select 4, '2020-01-01Z'::timestamptz + make_interval(mins => n), n, n, n, n, n + 0.12345678901234567890 from generate_series(1, 300000) n`,
    );
    const { url, disk, filler } = await databaseOnSmallDisk(context, 40);
    const target = databaseAt(url);
    const ended = await tidemark(['move', '--to', url], source.env);
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
    expect(await tidemark(['move', '--to', url], source.env)).toMatchObject({ exitCode: 0 });
    expect(await rowsIn(target)).toBe(await rowsIn(source.database));
  });
});
