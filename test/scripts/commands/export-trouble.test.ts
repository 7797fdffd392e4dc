import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { describeWithSmallDisk, mountSmallDisk } from '../../parts/small-disk.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { useStore } from '../../store/open-store.ts';
import { emptyDirectory, inShell, market, program, start, tidemark } from '../command.ts';
import { endedWith } from '../ended.ts';
import { fillMany } from './export-store.ts';

const m1 = ['export', 'candles', ...market, '--interval', 'm1'];
const points = 300_000;

const store = useStore();
let env: Record<string, string>;
beforeAll(async () => {
  env = { DATABASE_URL: store.url };
  await fillMany(store.database, points);
});

it('ends in one line when the pipe closes', async () => {
  const ended = await inShell(m1, '| head -c 100 | wc -c', env);
  expect(ended).toMatchObject({
    exitCode: 130,
    stderr: 'tidemark: INTERRUPTED: the reader of the output closed it early; this is expected with `| head`\n',
  });
  expect(ended.stdout.trim()).toBe('100');
});

it('leaves the previous file when killed or stopped, and the next export removes its part', async () => {
  const directory = emptyDirectory();
  const out = join(directory, 'x.csv');
  writeFileSync(out, 'before');
  const parts = () => readdirSync(directory).filter((name) => /^\.x\.csv\.\d+\.part$/.test(name));
  const startedOver = async (leftover: string | undefined) => {
    const running = start([...m1, '--out', out], env);
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
  expect(await stopped.ended).toMatchObject({
    exitCode: 130,
    stderr: expect.stringMatching(/^tidemark: INTERRUPTED: stopped after [\d,]+ points; no file is left behind; .+\n$/),
  });
  expect(readFileSync(out, 'utf8')).toBe('before');
  expect(readdirSync(directory)).toEqual(['x.csv']);
  expect(await tidemark([...m1, '--out', out], env)).toMatchObject({ exitCode: 0 });
  expect(readdirSync(directory).sort()).toEqual(['x.csv', 'x.csv.meta.json']);
  expect(readFileSync(out, 'utf8').trimEnd().split('\n')).toHaveLength(points + 1);
});

it('ends in one line when its database becomes unreachable, and leaves nothing', async () => {
  const directory = emptyDirectory();
  const running = start([...m1, '--out', join(directory, 'x.jsonl')], env);
  await waitFor('a part of the file', () => readdirSync(directory).some((name) => name.startsWith('.x.jsonl.')));
  await store.database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tidemark export' and datname = current_database()`,
  );
  expect(await running.ended).toMatchObject({
    exitCode: 5,
    stderr: expect.stringMatching(
      /^tidemark: DATABASE_UNREACHABLE: .+; check DATABASE_URL, and that the server runs\n$/,
    ),
  });
  expect(readdirSync(directory)).toEqual([]);
});

describeWithSmallDisk('the disk that an export writes to fills up', () => {
  it('ends in one line, and leaves the previous file', async () => {
    const disk = mountSmallDisk(1);
    for (const format of ['csv', 'parquet']) {
      const out = join(disk, `x.${format}`);
      writeFileSync(out, 'before');
      expect(await tidemark([...m1, '--out', out], env)).toMatchObject({
        ...{ exitCode: 8, stdout: '' },
        stderr: expect.stringMatching(
          /^tidemark: FILE_NOT_WRITTEN: .+: no space left on device; free disk space .+\n$/,
        ),
      });
      expect(readFileSync(out, 'utf8')).toBe('before');
      rmSync(out);
      expect(readdirSync(disk)).toEqual([]);
    }
    execFileSync('mount', ['-o', 'remount,size=100m', disk]);
    expect(await tidemark([...m1, '--out', join(disk, 'x.csv')], env)).toMatchObject({ exitCode: 0 });
  });
});

it.each(['csv', 'jsonl', 'parquet'])('ends at the first Ctrl-C while its reader takes nothing: %s', async (format) => {
  const child = spawn(process.execPath, [program, ...m1, '--format', format], {
    cwd: emptyDirectory(),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  await once(child.stdout, 'readable');
  await waitFor('the server that waits for the export', async () => {
    const { rowCount } = await store.database.pool.query(
      `select from pg_stat_activity where application_name = 'tidemark export' and datname = current_database()
       and wait_event = 'ClientWrite'`,
    );
    return rowCount === 1;
  });
  child.kill('SIGINT');
  const [exitCode] = await once(child, 'exit');
  // On a slow machine it has said before that it waits for the database.
  const ended = endedWith(exitCode, '', stderr);
  expect(ended.exitCode).toBe(130);
  expect(ended.stderr).toMatch(/^tidemark: INTERRUPTED: stopped after [\d,]+ points; the output is cut off; .+\n$/);
});

it('exports the snapshot of its start, though more is written meanwhile', async () => {
  // A reader that does not read holds it up; what is in the pipe by then are a few thousand rows.
  const child = spawn(process.execPath, [program, ...m1], {
    cwd: emptyDirectory(),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  });
  await once(child.stdout, 'readable');
  await store.database.pool.query(
    `update tidemark.candle_points set close = 0.5, low = 0.5 where time >= '2024-03-01'`,
  );
  const text = (await child.stdout.setEncoding('utf8').toArray()).join('');
  const lines = text.trimEnd().split('\n').slice(1);
  expect(lines).toHaveLength(points);
  expect(lines.filter((line) => line.includes(',0.5,'))).toEqual([]);
});
