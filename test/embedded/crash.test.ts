import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../clock.ts';
import { acquireEmbeddedDatabase } from '../../embedded/acquire.ts';
import { waitFor } from '../parts/wait-for.ts';
import { killServer, leave, query, scratchDirectory, serverPid, startHolder, urlHeldBy } from './scratch.ts';

const entries = (directory: string): string[] => {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
};

describe('after a crash', () => {
  it('of a command, its lease on the server ends', async () => {
    const directory = scratchDirectory();
    const killed = startHolder(directory);
    const url = await urlHeldBy(killed);
    const pid = serverPid(directory);
    await killed.end('SIGKILL');
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);

    const next = await acquireEmbeddedDatabase({ clock: systemClock, directory });
    expect(serverPid(directory)).toBe(pid);
    await next.release();
    expect(serverPid(directory)).toBeNull();
  });

  it('of a first start, the next one starts over and cleans up', async () => {
    const directory = scratchDirectory();
    const killed = startHolder(directory);
    await waitFor('an unfinished cluster', () =>
      entries(directory).some((name) => name.startsWith('postgres.new-') && entries(join(directory, name)).length > 0),
    );
    await killed.end('SIGKILL');
    expect(entries(directory)).not.toContain('postgres');

    const { url, release } = await acquireEmbeddedDatabase({ clock: systemClock, directory });
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await release();
    expect(entries(directory).sort()).toEqual(['password', 'postgres', 'postgres.log', 'url']);
  });

  it('of the server, what was committed is there at the next start', async () => {
    const directory = scratchDirectory();
    const holder = startHolder(directory);
    await query(await urlHeldBy(holder), 'create table kept as select 1 as one');
    await holder.end('SIGKILL');
    await killServer(directory);
    expect(serverPid(directory)).not.toBeNull();

    const { url, release } = await acquireEmbeddedDatabase({ clock: systemClock, directory });
    expect(await query(url, 'select * from kept')).toEqual([{ one: 1 }]);
    await release();
    expect(serverPid(directory)).toBeNull();
  });

  it("of the machine, a process with the old server's id is ignored", async () => {
    const directory = scratchDirectory();
    const holder = startHolder(directory);
    await urlHeldBy(holder);
    await holder.end('SIGKILL');
    await killServer(directory);
    const lockFile = join(directory, 'postgres', 'postmaster.pid');
    writeFileSync(lockFile, readFileSync(lockFile, 'utf8').replace(/^\d+/, String(process.pid)));

    const { url, release } = await acquireEmbeddedDatabase({ clock: systemClock, directory });
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await release();
  });

  it('of the server, the commands that use it get it back at the same address', async () => {
    const directory = scratchDirectory();
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const here = await acquireEmbeddedDatabase({ clock: systemClock, directory, log });
    const there = startHolder(directory);
    expect(await urlHeldBy(there)).toBe(here.url);
    const pool = new pg.Pool({ connectionString: here.url });
    pool.on('error', () => {});
    await pool.query('create table kept as select 1 as one');
    const killed = serverPid(directory);
    await killServer(directory);

    await there.waitForPrinted(/log: the embedded database has stopped/);
    await waitFor('the server to be back', async () => (await pool.query('select 1').catch(() => null)) !== null);
    expect((await pool.query('select * from kept')).rows).toEqual([{ one: 1 }]);
    await pool.end();
    expect(serverPid(directory)).not.toBe(killed);
    // Twice where the other command started the server, could not connect in time and stopped it again.
    expect(new Set(lines)).toEqual(new Set(['the embedded database has stopped; restarting it']));

    await waitFor('both to hold it again', async () => {
      const [row] = await query(
        here.url,
        `select count(*)::int as leases from pg_stat_activity where application_name = 'tidemark lease'`,
      ).catch(() => []);
      return row?.leases === 2;
    });
    await here.release();
    expect(serverPid(directory)).not.toBeNull();
    await leave(there);
    expect(serverPid(directory)).toBeNull();
  });
});
