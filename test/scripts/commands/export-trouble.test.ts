import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { describeWithSmallDisk, mountSmallDisk } from '../../parts/small-disk.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { emptyDirectory, market, start, tidemark } from '../command.ts';
import { manyMinutes } from './export-store.ts';

const m1 = ['export', 'candles', ...market, '--interval', 'm1'];

/** What ends a command is its last line; before it, where the machine is busy, may be some of progress. */
function lastLine(stderr: string): string {
  return `${stderr.trimEnd().split('\n').at(-1)}\n`;
}

/** Runs it in a shell, whose exit code is that of the export. */
function inShell(env: Record<string, string>, rest: string) {
  const words = [process.execPath, resolve('dist/scripts/tidemark.js'), ...m1].map((word) => `'${word}'`);
  const child = spawn('bash', ['-c', `${words.join(' ')} ${rest}; exit \${PIPESTATUS[0]}`], {
    cwd: emptyDirectory(),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return once(child, 'close').then(([exitCode]) => ({ exitCode, stdout, stderr }));
}

it('ends in one line when the pipe closes', async () => {
  const store = await manyMinutes('main', 60_000);
  for (const format of ['csv', 'parquet']) {
    const ended = await inShell(store.env, `--format ${format} | head -c 100`);
    if (format === 'csv') expect(ended.stdout).toHaveLength(100);
    expect(lastLine(ended.stderr)).toBe(
      'tidemark: INTERRUPTED: the reader of the output closed it early; this is expected with `| head`\n',
    );
    expect(ended.exitCode).toBe(130);
  }
});

it('leaves the previous file when killed or stopped, and the next export removes its part', async () => {
  const store = await manyMinutes('main', 300_000);
  const directory = emptyDirectory();
  const out = join(directory, 'x.csv');
  writeFileSync(out, 'before');
  const parts = () => readdirSync(directory).filter((name) => /^\.x\.csv\.\d+\.part$/.test(name));
  const startedOver = async (leftover: string | undefined) => {
    const running = start([...m1, '--out', out], store.env);
    await waitFor('a part of the file', () => {
      const [part] = parts().filter((name) => name !== leftover);
      return part !== undefined && statSync(join(directory, part)).size > 100_000;
    });
    return running;
  };
  const killed = await startedOver(undefined);
  killed.kill('SIGKILL');
  await killed.ended;
  expect(readFileSync(out, 'utf8')).toBe('before');
  const [leftover] = parts();
  expect(leftover).toBeDefined();

  const stopped = await startedOver(leftover);
  expect(parts()).not.toContain(leftover);
  stopped.kill('SIGINT');
  const ended = await stopped.ended;
  expect(lastLine(ended.stderr)).toMatch(
    /^tidemark: INTERRUPTED: stopped after [\d,]+ points; no file is left behind; .+\n$/,
  );
  expect(ended.exitCode).toBe(130);
  expect(readFileSync(out, 'utf8')).toBe('before');
  expect(readdirSync(directory)).toEqual(['x.csv']);
  const whole = await tidemark([...m1, '--out', out], store.env);
  expect(whole).toMatchObject({ exitCode: 0 });
  expect(readdirSync(directory).sort()).toEqual(['x.csv', 'x.csv.meta.json']);
  expect(readFileSync(out, 'utf8').trimEnd().split('\n')).toHaveLength(300_001);
});

it('ends in one line when its database becomes unreachable, and leaves nothing', async () => {
  const store = await manyMinutes('main', 300_000);
  const directory = emptyDirectory();
  const running = start([...m1, '--out', join(directory, 'x.jsonl')], store.env);
  await waitFor('a part of the file', () =>
    readdirSync(directory).some((name) => name.startsWith('.x.jsonl.')),
  );
  await store.database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tidemark export' and datname = current_database()`,
  );
  const ended = await running.ended;
  expect(lastLine(ended.stderr)).toMatch(
    /^tidemark: DATABASE_UNREACHABLE: .+; check DATABASE_URL, and that the server runs\n$/,
  );
  expect(ended.exitCode).toBe(5);
  expect(readdirSync(directory)).toEqual([]);
});

it('exports the snapshot of its start, though more is written meanwhile', async () => {
  const store = await manyMinutes('main', 100_000);
  // A reader that does not read holds it up; what is in the pipe by then are a few thousand rows.
  const child = spawn(process.execPath, [resolve('dist/scripts/tidemark.js'), ...m1], {
    cwd: emptyDirectory(),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...store.env },
  });
  await once(child.stdout, 'readable');
  await store.database.pool.query(
    `update tidemark.candle_points set close = 0.5, low = 0.5 where time >= '2024-03-01'`,
  );
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await once(child, 'close');
  const lines = text.trimEnd().split('\n').slice(1);
  expect(lines).toHaveLength(100_000);
  expect(lines.filter((line) => line.includes(',0.5,'))).toEqual([]);
});

it('explains why it cannot write', async () => {
  const store = await manyMinutes('main', 200);
  const directory = emptyDirectory();
  for (const [out, line] of [
    [
      join(directory, 'absent', 'x.csv'),
      /FILE_NOT_WRITTEN: .+: no such file or directory; create its directory first/,
    ],
    [directory, /FILE_NOT_WRITTEN: .+: exists and is not a file; .+--out -/],
    ['/dev/full', /FILE_NOT_WRITTEN: \/dev\/full: exists and is not a file; /],
  ] as const) {
    const ended = await tidemark([...m1, '--out', out], store.env);
    expect(lastLine(ended.stderr)).toMatch(line);
    expect(ended).toMatchObject({ exitCode: 8, stdout: '' });
  }
  const full = await inShell(store.env, '> /dev/full');
  expect(lastLine(full.stderr)).toMatch(
    /^tidemark: FILE_NOT_WRITTEN: standard output: no space left on device; .+ the output is truncated\n$/,
  );
  expect(full.exitCode).toBe(8);
});

describeWithSmallDisk('the disk that an export writes to fills up', () => {
  it('ends in one line, and leaves the previous file', async () => {
    const store = await manyMinutes('main', 100_000);
    const disk = mountSmallDisk(1);
    for (const format of ['csv', 'parquet']) {
      const out = join(disk, `x.${format}`);
      writeFileSync(out, 'before');
      const ended = await tidemark([...m1, '--out', out], store.env);
      expect(lastLine(ended.stderr)).toMatch(
        /^tidemark: FILE_NOT_WRITTEN: .+: no space left on device; free disk space .+\n$/,
      );
      expect(ended).toMatchObject({ exitCode: 8, stdout: '' });
      expect(readFileSync(out, 'utf8')).toBe('before');
      rmSync(out);
      expect(readdirSync(disk)).toEqual([]);
    }
    execFileSync('mount', ['-o', 'remount,size=100m', disk]);
    expect(await tidemark([...m1, '--out', join(disk, 'x.csv')], store.env)).toMatchObject({ exitCode: 0 });
  });
});
