import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { picturesOf } from '../../docs/pictures.ts';
import { freePort } from '../../parts/free-port.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { emptyDirectory, start, tidemark } from '../command.ts';

it('demo --once backfills, refreshes and reports, labels its data, and leaves no process', async () => {
  const directory = emptyDirectory();
  const env = { TIDEMARK_DIR: directory };
  const first = await tidemark(['demo', '--once'], env);
  expect(first.stderr).toBe('');
  expect(first.exitCode).toBe(0);
  for (const line of first.stdout.split('\n').filter((text) => /\d{4}-\d\d-\d\d|bitcoin\/tether m1/.test(text))) {
    // Lines of SQL name no value.
    expect(line).toMatch(/synthetic/);
  }
  expect(first.stdout).toMatch(/\[synthetic\] .*bitcoin\/tether m1 .* 100 % /);
  expect(first.stdout).toMatch(/volatility_percent\n\[synthetic\] .* 30 +\d+\.\d\d\n/);

  const status = await tidemark(['status'], { TIDEMARK_DIR: join(directory, 'demo') });
  expect(status.stdout).toContain(`, embedded, its URL in ${join(directory, 'demo', 'url')}\n`);
  expect(processesOf(directory)).toEqual([]);
});

it('a demo shows the backfill at its address, ends when its pipe closes, and leaves no process', async () => {
  const directory = emptyDirectory();
  const port = await freePort();
  const demo = start(['demo'], { TIDEMARK_DIR: directory, SERVE_PORT: String(port) });
  const address = `http://127.0.0.1:${port}/`;
  await waitFor('the address', () => demo.stdout().includes(`The dashboard is at ${address}`));
  expect(demo.stdout()).not.toContain('backfill');
  await waitFor('the address with the token', () => demo.stdout().includes(`${address}#token=`));
  const page = await fetch(address);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Tidemark')]);
  demo.leaveUnread();
  // Whether it had all it wanted by then is a matter of moments.
  expect([0, 130]).toContain((await demo.ended).exitCode);
  expect(processesOf(directory)).toEqual([]);
});

it('a demo has rows for every picture of docs/pictures.md and a command line for any folder, while it runs', async () => {
  const directory = emptyDirectory();
  const demo = start(['demo'], { TIDEMARK_DIR: "it's", SERVE_PORT: String(await freePort()) }, directory);
  await waitFor('the report', () => demo.stdout().includes('Refreshing and serving until Ctrl-C.'));
  const client = new pg.Client({
    connectionString: readFileSync(join(directory, "it's", 'demo', 'url'), 'utf8').trim(),
  });
  await client.connect();
  try {
    const pictures = picturesOf(JSON.parse(readFileSync('docs/notebooks/ten-questions.ipynb', 'utf8')));
    expect(pictures).toHaveLength(10);
    for (const { path, sql } of pictures) expect([path, (await client.query(sql)).rows.length]).not.toEqual([path, 0]);
  } finally {
    await client.end();
  }
  // The configuration of another folder is that of another source.
  const elsewhere = emptyDirectory();
  writeFileSync(join(elsewhere, '.env'), 'SOURCE_REQUESTS_PER_MINUTE=77\nREFRESH_SECONDS=3600\nDATABASE_URL=none\n');
  writeFileSync(join(elsewhere, 'tidemark.yaml'), 'no watch list');
  const [hint = ''] = /^ {2}.* status$/m.exec(demo.stdout()) ?? [];
  const say = (line: string) =>
    execFileSync('sh', ['-c', line], { cwd: elsewhere, env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8' });
  const status = say(hint);
  expect(status).toContain(`embedded, its URL in ${join(directory, "it's", 'demo', 'url')}\n`);
  expect(status).toMatch(/ of 500 requests in the last minute/);
  expect(status).not.toMatch(/different budgets|left out/);
  expect(say(hint.replace(/status$/, 'plan'))).toContain('36 for new periods');
  demo.kill('SIGTERM');
  await demo.ended;
  expect(processesOf(directory)).toEqual([]);
});

function processesOf(directory: string): string[] {
  const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return processes.split('\n').filter((line) => line.includes(directory));
}
