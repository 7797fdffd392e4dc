import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { dayMs } from '../../../contract/intervals.ts';
import { migrateQueueBackend } from '../../../queue/backend.ts';
import { startSimulator } from '../../../simulator/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeMissing, describeNeeding } from '../../parts/describe-needing.ts';
import { inTerminal, noPseudoTerminal, type TerminalSession } from '../../parts/pseudo-terminal.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';
import { market, program, start, tidemark } from '../command.ts';

const series = [...market, '--interval', 'm1,h1'];
const startMs = Date.UTC(2024, 2, 1);
const days = (count: number) => [
  '--from',
  '2024-03-01',
  '--to',
  `2024-03-${String(1 + count).padStart(2, '0')}`,
];
const backfill = ['backfill', 'candles', ...series];
const escapeCode = '\u001b';

/** @param whenOver called with what is to be done at its end: of a test, or of all that share it. */
async function environment(
  more: Record<string, string> = {},
  whenOver: (close: () => Promise<void>) => void = onTestFinished,
) {
  const { url, drop } = await createMigratedDatabase();
  whenOver(drop);
  const simulator = await startSimulator({ perMinute: null });
  whenOver(() => simulator.close());
  const namespace = `t${new URL(url).pathname.slice(-12)}`;
  const env: Record<string, string> = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_REQUESTS_PER_MINUTE: '1200',
    PLANNING_TICK_MS: '200',
    QUEUE_NAMESPACE: namespace,
    ...more,
  };
  await migrateQueueBackend({ redisUrl: env.REDIS_URL, databaseUrl: url, namespace }, 'up');
  return { env };
}

/** Follows twenty days of minutes and hours: 21 windows. */
async function tracked({ DATABASE_URL: url = '' }: Record<string, string>): Promise<void> {
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 1,
    statementTimeoutMs: 30_000,
  });
  for (const interval of ['m1', 'h1'] as const) {
    await trackSeries(
      database,
      { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval },
      startMs,
      startMs + 20 * dayMs,
    );
  }
  await database.close();
}

const run = (
  words: readonly string[],
  env: Record<string, string>,
  size?: { columns: number; rows: number },
) => inTerminal([process.execPath, program, ...words], env, size);

async function drawn({ screen }: TerminalSession): Promise<void> {
  await waitFor('the screen to be drawn', () => /^left .*[\s\S]*%/m.test(screen.text()));
}

/** As it was before: nothing of what was drawn is left, and the cursor is there again. */
function expectRestored({ screen }: TerminalSession): void {
  expect(screen.isWhole).toBe(false);
  expect(screen.isCursorShown).toBe(true);
  expect(screen.text()).not.toContain('Tidemark');
}

function terminalTests() {
  describe('status --watch on a terminal', () => {
    /** Of tests that only look: two series, of which nothing is covered. */
    let env: Record<string, string> = {};
    const closing: Array<() => Promise<void>> = [];
    beforeAll(async () => {
      ({ env } = await environment({}, (close) => closing.unshift(close)));
      await tracked(env);
    });
    afterAll(async () => {
      for (const close of closing) await close();
    });

    it.each([40, 80, 200])('draws a screen of %i columns without folded lines', async (columns) => {
      const session = await run(['status', '--watch'], env, { columns, rows: 20 });
      await drawn(session);
      const { screen } = session;
      expect(screen.isWhole).toBe(true);
      expect(screen.isCursorShown).toBe(false);
      expect(screen.lines().length).toBeLessThanOrEqual(20);
      expect(screen.text()).toMatch(/^left {6}21 windows/m);
      expect(screen.text()).toMatch(/^binance.*m1 ░+ {3}0\.00 %/m);
      if (columns >= 80) expect(screen.text()).toContain('budget    0 of 1,200 requests in the last minute');
      session.type('\u0003');
      expect(await session.ended).toBe(130);
      expect(screen.folded).toEqual([]);
      expectRestored(session);
    });

    it('follows a backfill to its end, and quits at q', async () => {
      const { env } = await environment();
      await tracked(env);
      const session = await run(['status', '--watch', '--every', '1s'], env);
      await drawn(session);
      const before = session.screen.lines()[0];
      const filled = await tidemark([...backfill, ...days(20), '--json'], env);
      expect(filled.exitCode).toBe(0);
      await waitFor('all of it to be covered', () => /m1 █+ {4}100 % done/.test(session.screen.text()));
      expect(session.screen.lines()[0]).not.toBe(before);
      expect(session.screen.text()).toMatch(/^left {6}no window$/m);
      expect(session.screen.text()).toMatch(/^answers {3}21 filled$/m);
      session.type('q');
      expect(await session.ended).toBe(0);
      expectRestored(session);
      expect(session.screen.folded).toEqual([]);
    });

    it('uses colours that the terminal supports', async () => {
      const styles = async (more: Record<string, string>) => {
        const session = await run(['status', '--watch'], { ...env, ...more });
        await drawn(session);
        session.type('q');
        expect(await session.ended).toBe(0);
        return session.screen.styles;
      };
      expect(await styles({})).toBeGreaterThan(0);
      expect(await styles({ NO_COLOR: '1' })).toBe(0);
      expect(await styles({ TERM: 'vt100', FORCE_COLOR: '1' })).toBeGreaterThan(0);
    });

    it('redraws when the terminal is resized', async () => {
      const session = await run(['status', '--watch', '--every', '1h'], env, { columns: 120, rows: 30 });
      await drawn(session);
      const barOf = () => /m1 (░+)/.exec(session.screen.text())?.[1]?.length ?? 0;
      expect(barOf()).toBe(40);
      session.resize(40, 12);
      // Only a change of size draws within the hour.
      await waitFor('a smaller drawing', () => barOf() === 10);
      expect(session.screen.lines().length).toBeLessThanOrEqual(12);
      session.resize(100, 24);
      await waitFor('a larger drawing', () => barOf() === 40);
      session.kill('SIGTERM');
      expect(await session.ended).toBe(130);
      expectRestored(session);
    });

    it('shows that the database is unreachable until it is back', async () => {
      const proxy = await proxyTo(env.DATABASE_URL ?? '');
      const through = { ...env, DATABASE_URL: proxy.url, LOG_LEVEL: 'info' };
      const session = await run(['status', '--watch', '--every', '1s'], through);
      await drawn(session);
      await proxy.cut();
      await waitFor('the loss to be shown', () =>
        /^offline .*DATABASE_UNREACHABLE/m.test(session.screen.text()),
      );
      expect(session.screen.text()).toMatch(/^left {6}21 windows/m);
      await proxy.mend();
      await waitFor('it to be back', () => !/^offline/m.test(session.screen.text()));
      await proxy.cut();
      await waitFor('the loss to be shown', () => /^offline/m.test(session.screen.text()));
      session.type('\u0003');
      expect(await session.ended).toBe(130);
      expectRestored(session);
      // No log across what is drawn.
      expect(session.output()).not.toContain('"level"');
      expect(session.screen.folded).toEqual([]);
    });

    it('draws nothing on a dumb terminal', async () => {
      const session = await run(['status', '--watch'], { ...env, TERM: 'dumb' }, { columns: 300, rows: 24 });
      await waitFor('a line', () => session.screen.text().includes('covered'));
      session.kill('SIGINT');
      expect(await session.ended).toBe(130);
      expect(session.output()).not.toContain(escapeCode);
    });
  });

  describe('backfill on a terminal', () => {
    it.each([40, 120])('draws its bars in %i columns and leaves them at the end', async (columns) => {
      const { env } = await environment();
      const session = await run([...backfill, ...days(20)], env, { columns, rows: 20 });
      await waitFor('a bar', () => /m1 █*░+ +\d+\.\d\d %/.test(session.screen.text()));
      expect(session.screen.isCursorShown).toBe(false);
      expect(session.screen.isWhole).toBe(false);
      expect(await session.ended).toBe(0);
      const text = session.screen.text();
      expect(text).toMatch(/m1 █+ {4}100 %/);
      expect(text).toContain('nothing left');
      // Drawn over, and not one below the other.
      expect(text.match(/nothing left|windows left/g)).toHaveLength(1);
      expect(text).toMatch(/^complete: 21 requests/m);
      expect(session.screen.isCursorShown).toBe(true);
      // What is printed for good may be longer than a line.
      expect(session.screen.folded.filter((line) => !/^complete|^tidemark/.test(line))).toEqual([]);
    });

    it('shows failures, restores the cursor at Ctrl-C, and keeps printed lines', async () => {
      const { env } = await environment({ SOURCE_REQUESTS_PER_MINUTE: '600' });
      const faulty = await startSimulator({ perMinute: null, faults: { errorRate: 0.5 } });
      onTestFinished(() => faulty.close());
      const session = await run([...backfill, ...days(25)], { ...env, SOURCE_URL: faulty.url });
      await waitFor('a failure', () => /^failed: \d+ server error/m.test(session.screen.text()));
      session.type('\u0003');
      expect(await session.ended).toBe(130);
      expect(session.screen.isCursorShown).toBe(true);
      expect(session.screen.text()).toMatch(
        /%.*\n[\s\S]*windows left[\s\S]*^failed: [\s\S]*^interrupted: [\s\S]*INTERRUPTED/m,
      );
    });
  });
}

const missing = noPseudoTerminal();
if (missing === '') terminalTests();
else describeMissing('on a terminal', `needs a pseudo-terminal: ${missing}`, terminalTests);

describe('status --watch in a pipe', () => {
  it('prints a line per change, without escape codes', async () => {
    const { env } = await environment();
    await tracked(env);
    const watching = start(['status', '--watch', '--every', '1s'], { ...env, FORCE_COLOR: '1' });
    await waitFor('a line', () => watching.stdout().includes('\n'));
    expect((await tidemark([...backfill, ...days(20), '--json'], env)).exitCode).toBe(0);
    await waitFor('the news', () => /covered 100 %, no window left/.test(watching.stdout()));
    watching.kill('SIGINT');
    const { exitCode, stdout, stderr } = await watching.ended;
    expect([exitCode, stderr]).toEqual([130, '']);
    expect(stdout).not.toContain(escapeCode);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z no worker and no scheduler is connected: 21 windows left, covered 0\.00 %, 21 windows left, ETA -, 0 of 1,200 requests in the last minute, 0 points a second$/,
    );
    const said = lines.map((line) => line.slice(line.indexOf('Z ')));
    for (const [index, line] of said.entries()) expect(line).not.toBe(said[index - 1]);
  });

  it('prints a document per poll with --json, and ends when the pipe closes', async () => {
    const { env } = await environment();
    await tracked(env);
    const watching = start(['status', '--watch', '--json', '--every', '1s'], env);
    await waitFor('two documents', () => watching.stdout().split('\n').length > 2);
    const [first = ''] = watching.stdout().split('\n');
    expect(JSON.parse(first)).toMatchObject({
      windowsLeft: 21,
      coveredSeconds: 0,
      etaSeconds: null,
      budget: { perMinute: 1200, lastMinute: 0 },
      queue: { waiting: 0, workers: 0, paused: false },
      gaps: { not_asked: 2 },
      failures: {},
      notice: null,
      groups: [
        { name: 'binance bitcoin/tether m1', series: 1, windowsLeft: 20 },
        { name: 'binance bitcoin/tether h1', series: 1, windowsLeft: 1 },
      ],
    });
    watching.leaveUnread();
    expect((await watching.ended).exitCode).toBe(0);
  });

  it('has the ETA at its first poll, as status has, and none when nothing moves', async () => {
    const { env } = await environment({ SOURCE_REQUESTS_PER_MINUTE: '30' });
    await tracked(env);
    const first = async (...words: string[]) => {
      const watching = start(['status', '--watch', '--json', '--every', '1h', ...words], env);
      await waitFor('a document', () => watching.stdout().includes('\n'));
      watching.kill('SIGINT');
      return JSON.parse((await watching.ended).stdout);
    };
    const status = async () => JSON.parse((await tidemark(['status', '--json'], env)).stdout);
    const running = start(['run', '--no-serve'], env);
    await waitFor('an ETA', async () => (await status()).etaSeconds !== null);
    const { windowsLeft, etaSeconds, headline } = await first();
    expect(windowsLeft).toBeGreaterThan(0);
    expect(etaSeconds).toBeGreaterThan(0);
    expect(headline.text).toMatch(/^catching up.*: \d+ windows left, ETA \d+ /);
    expect((await tidemark(['status'], env)).stdout).toMatch(/^catching up.*: \d+ windows? left, ETA \d+ /);
    running.kill('SIGTERM');
    await running.ended;
    expect(await status()).toMatchObject({ etaSeconds: null, headline: { kind: 'no_worker', level: 'bad' } });
    expect((await first()).etaSeconds).toBeNull();
  });

  it('fails at once without a database', async () => {
    const nowhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
    const ended = await tidemark(['status', '--watch'], nowhere);
    expect(ended.exitCode).toBe(5);
    expect(ended.stderr).toMatch(/^tidemark: DATABASE_UNREACHABLE: [^\n]*\n$/);
    expect(ended.stdout).toBe('');
  });

  it.each([
    [['--every', '2s'], '--every goes with --watch'],
    [['--watch', '--every', '500'], 'is not a length from 1s to 1h'],
    [['--watch', '--every', '2h'], 'is not a length from 1s to 1h'],
    [['--watch', '--check'], 'exclude each other'],
  ])('refuses %j', async (words, why) => {
    const ended = await tidemark(['status', ...words]);
    expect(ended.exitCode).toBe(2);
    expect(ended.stderr).toContain(why);
  });
});

describeNeeding('redis', 'status --watch and its queue on Redis', () => {
  it('reports once that the queue is unreachable, and continues', async () => {
    const proxy = await proxyTo(inject('redisUrl') ?? '');
    const { env } = await environment({ REDIS_URL: proxy.url });
    await tracked(env);
    const watching = start(['status', '--watch', '--every', '1s'], env);
    await waitFor('a line', () => watching.stdout().includes('covered'));
    await proxy.cut();
    await waitFor('the loss', () => /Z QUEUE_UNREACHABLE: .*; retrying\n/.test(watching.stdout()));
    await proxy.mend();
    await waitFor('it to be back', () => /retrying\n.*covered/.test(watching.stdout()));
    watching.kill('SIGINT');
    const { exitCode, stdout, stderr } = await watching.ended;
    expect([exitCode, stderr]).toEqual([130, '']);
    expect(stdout.match(/retrying/g)).toHaveLength(1);
  });

  it('names the cause of the loss, and prints no error of a connection', async () => {
    const proxy = await proxyTo(inject('redisUrl') ?? '');
    const { env } = await environment({ REDIS_URL: proxy.url });
    await tracked(env);
    const watching = start(['status', '--watch', '--json', '--every', '1s'], env);
    await waitFor('a document', () => watching.stdout().includes('windowsLeft'));
    await proxy.cut();
    await waitFor('three errors', () => watching.stdout().split('QUEUE_UNREACHABLE').length > 3);
    watching.kill('SIGINT');
    const { exitCode, stdout, stderr } = await watching.ended;
    expect([exitCode, stderr]).toEqual([130, '']);
    expect(stdout).toContain(`connect ECONNREFUSED ${new URL(proxy.url).host}`);
    expect(stdout).not.toContain('maxRetriesPerRequest');
  });
});
