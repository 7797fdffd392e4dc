import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../clock.ts';
import { acquireEmbeddedDatabase } from '../../embedded/acquire.ts';
import { TidemarkError } from '../../errors.ts';
import { describeMissing } from '../parts/describe-needing.ts';
import { describeWithSmallDisk, mountSmallDisk } from '../parts/small-disk.ts';
import { expectToWork, query, scratchDirectory, serverPid } from './scratch.ts';

const isRoot = process.getuid?.() === 0;

/** The error of the acquisition. */
async function refusalOf(directory: string): Promise<TidemarkError> {
  try {
    const { release } = await acquireEmbeddedDatabase({ clock: systemClock, directory });
    await release();
  } catch (error) {
    if (error instanceof TidemarkError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

/** A directory with a stopped database. */
async function stoppedDatabase(): Promise<string> {
  const directory = scratchDirectory();
  await (await acquireEmbeddedDatabase({ clock: systemClock, directory })).release();
  return directory;
}

describe('an unusable directory', () => {
  it('is named when it is a file', async () => {
    const file = scratchDirectory();
    writeFileSync(file, '');
    const error = await refusalOf(file);
    expect(error).toMatchObject({ code: 'EMBEDDED_DATABASE', message: expect.stringContaining(file) });
    expect(`${error.message} ${error.remedy}`).not.toContain('\n');
  });

  it('is named when its password is missing or wrong, or files are of another version or not readable', async () => {
    const directory = await stoppedDatabase();
    const [password, version, settings] = ['password', 'postgres/PG_VERSION', 'postgres/postgresql.conf'];
    for (const [name = '', content, reason] of [
      [password, null, /password is missing/],
      [password, 'another', /password authentication failed/],
      [settings, 'no_such_setting = 1\n', /did not start: .*configuration file/],
      [version, '15\n', /was created by another version of PostgreSQL/],
    ] as const) {
      const file = join(directory, name);
      const before = readFileSync(file, 'utf8');
      if (content === null) rmSync(file);
      else writeFileSync(file, content);
      const { code, message, remedy } = await refusalOf(directory);
      expect([code, message]).toEqual(['EMBEDDED_DATABASE', expect.stringMatching(reason)]);
      if (content === 'another') expect(remedy).toMatch(/restore it/);
      expect(serverPid(directory)).toBeNull();
      writeFileSync(file, before, { mode: 0o600 });
    }
  });
});

const modeOf = (...path: string[]) => statSync(join(...path)).mode & 0o777;

it('permissions that are too open are restricted', async () => {
  const directory = await stoppedDatabase();
  chmodSync(directory, 0o777);
  chmodSync(join(directory, 'postgres'), 0o755);
  chmodSync(join(directory, 'password'), 0o644);
  await expectToWork(directory);
  expect(modeOf(directory) & 0o067).toBe(0);
  expect([modeOf(directory, 'postgres'), modeOf(directory, 'password')]).toEqual([0o700, 0o600]);
});

function describeAsRoot(title: string, body: () => void): void {
  if (isRoot && process.platform === 'linux') describe(title, body);
  else describeMissing(title, 'needs root on Linux', body);
}

describeAsRoot('as root, the server runs as another user', () => {
  it('in a directory whose parent only root may enter, with one capability', async () => {
    const directory = scratchDirectory(); // below a directory of mode 0700
    const { url, release } = await acquireEmbeddedDatabase({ clock: systemClock, directory });
    const status = readFileSync(`/proc/${serverPid(directory)}/status`, 'utf8');
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await release();
    expect(status).not.toMatch(/^Uid:\s+0/m);
    // Bit 2 is dac_read_search; bit 1 is dac_override, in a container without the other.
    expect(status).toMatch(/^CapEff:\s+000000000000000[24]$/m);
    expect(serverPid(directory)).toBeNull();
  });
});

describeWithSmallDisk('a full disk', () => {
  it('stops the first start with one line, and leaves no unfinished cluster', async () => {
    const directory = join(mountSmallDisk(24), '.tidemark');
    const error = await refusalOf(directory);
    expect(error.code).toBe('DATABASE_FULL');
    expect(error.message).toContain(directory);
    expect(error.message).not.toContain('\n');
    expect(() => statSync(join(directory, 'postgres'))).toThrow();
  });

  it('keeps stored data, and starts again when there is room', async () => {
    const disk = mountSmallDisk(160);
    const directory = join(disk, '.tidemark');
    const first = await acquireEmbeddedDatabase({ clock: systemClock, directory });
    await query(first.url, 'create table kept as select 1 as one');
    const filling = query(
      first.url,
      'create table filling as select repeat(i::text, 400) from generate_series(1, 1e6) i',
    );
    await expect(filling).rejects.toThrow(/No space left on device|connection|terminated/i);
    await first.release();

    mkdirSync(join(disk, 'other'));
    const ballast = join(disk, 'other', 'ballast');
    // Takes all the space that is left.
    expect(() => writeFileSync(ballast, Buffer.alloc(200 * 1024 * 1024))).toThrow(/ENOSPC/);
    expect((await refusalOf(directory)).code).toBe('DATABASE_FULL');

    rmSync(ballast);
    await expectToWork(directory, 'select * from kept');
  });
});
