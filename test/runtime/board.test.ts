import { expect, inject, it, onTestFinished } from 'vitest';
import { createBoard } from '../../runtime/board.ts';
import { metricsAddress } from '../metrics/running-processes.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { processesMs, start, tidemark } from '../scripts/command.ts';

const password = 'correct-horse-battery';

async function migrated(): Promise<Record<string, string>> {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(() => drop());
  const env = { DATABASE_URL: url };
  return env;
}

const basic = (name: string, word: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${word}`).toString('base64')}`,
});

onEachBackend('the board', (kind) => {
  it(
    'shows both queues with the password only, and is read-only',
    async () => {
      const env = {
        ...(await migrated()),
        ...(kind === 'redis'
          ? { REDIS_URL: inject('redisUrl') ?? '', QUEUE_NAMESPACE: `b${Date.now() % 1_000_000}` }
          : {}),
      };
      // What its scheduler puts into the queues is there to be seen.
      const scheduler = start(['scheduler'], env);
      await waitFor('the scheduler', () => scheduler.stderr().includes('scheduler started'));
      const board = start(['board'], {
        ...env,
        BOARD_PASSWORD: password,
        BOARD_PORT: '0',
        SERVE_PORT: '4000',
        METRICS_PORT: '0',
      });
      const address = () => /http:\S+\//.exec(board.stdout())?.[0];
      await waitFor('the board', () => address() !== undefined);
      const at = (path: string, init: RequestInit = {}) => fetch(`${address()}${path}`, init);

      const paths = ['', 'api/queues', 'static/js/none.js', 'no/such/path'];
      const wrong = [{}, basic('tidemark', 'wrong-horse-battery'), basic('admin', password), basic('tidemark', '')];
      // Few enough not to be stopped as one who guesses.
      for (const headers of [...wrong, { authorization: `Bearer ${password}` }, { authorization: 'Basic' }])
        for (const path of 'authorization' in headers ? ['api/queues'] : paths) {
          const answer = await at(path, { headers });
          expect([path, answer.status, await answer.text()]).toEqual([path, 401, '']);
          expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
        }

      const headers = basic('tidemark', password);
      const page = await at('', { headers });
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>Tidemark</title>')]);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
      const icon = await at('tidemark.svg', { headers });
      expect([icon.headers.get('content-type'), await icon.text()]).toEqual([
        'image/svg+xml',
        expect.stringContaining('<svg'),
      ]);
      const toDashboard = await at('to-dashboard', { headers, redirect: 'manual' });
      expect(toDashboard.headers.get('location')).toBe('http://127.0.0.1:4000/');
      const answer = await at('api/queues', { headers });
      const { queues } = (await answer.json()) as { queues: Array<{ name: string; readOnlyMode: boolean }> };
      expect(queues.map(({ name, readOnlyMode }) => [name, readOnlyMode])).toEqual([
        ['requests', true],
        ['planning', true],
      ]);
      const ofOne = ['pause', 'empty', 'obliterate'].map((what) => `requests/${what}`);
      for (const what of [...ofOne, 'pause', 'resume']) {
        const changing = await at(`api/queues/${what}`, { method: 'PUT', headers });
        expect([what, changing.status]).toEqual([what, 405]);
      }

      const metrics = await (await fetch(metricsAddress(board) ?? '')).text();
      expect(metrics).toMatch(/^tidemark_build_info\{command="board",/m);

      board.kill('SIGTERM');
      const { exitCode, stdout, stderr } = await board.ended;
      expect(exitCode).toBe(0);
      expect(stdout + stderr).not.toContain(password);
    },
    processesMs,
  );
});

it(
  'requires a password of twelve characters, and never prints it',
  async () => {
    const env = await migrated();
    const without = await tidemark(['board'], env);
    expect([without.exitCode, without.stderr]).toEqual([
      2,
      expect.stringMatching(/^tidemark: BAD_CONFIGURATION: BOARD_PASSWORD is not set[^\n]*\n$/),
    ]);
    const short = await tidemark(['board'], { ...env, BOARD_PASSWORD: 'hunter2' });
    expect([short.exitCode, short.stderr]).toEqual([2, expect.stringContaining('BOARD_PASSWORD must be 12 or more')]);
    expect(short.stderr).not.toContain('hunter2');
  },
  processesMs,
);

it('locks an address out for a minute after wrong passwords', async () => {
  const state = { nowMs: 1_000_000 };
  const app = await createBoard([], {
    password,
    icon: Buffer.from('<svg/>'),
    dashboardPort: 4000,
    clock: { now: () => state.nowMs },
  });
  onTestFinished(() => app.close());
  const status = async (remoteAddress: string, headers: { authorization?: string }) =>
    (await app.inject({ url: '/', remoteAddress, headers })).statusCode;
  // To ask without one is no guess.
  for (let ask = 0; ask < 20; ask += 1) expect(await status('203.0.113.7', {})).toBe(401);
  for (let guess = 0; guess < 10; guess += 1)
    expect(await status('203.0.113.7', basic('tidemark', `guess ${guess}`))).toBe(401);
  expect(await status('203.0.113.7', basic('tidemark', password))).toBe(429);
  expect(await status('203.0.113.8', basic('tidemark', password))).toBe(200);
  state.nowMs += 60_001;
  expect(await status('203.0.113.7', basic('tidemark', password))).toBe(200);
});
