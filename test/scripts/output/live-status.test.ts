import { describe, expect, it } from 'vitest';
import { describeMissing } from '../../parts/describe-needing.ts';
import { inTerminal, noPseudoTerminal, type TerminalSession } from '../../parts/pseudo-terminal.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';
import { program } from '../command.ts';
import { openWatched, type Watched } from '../commands/watch-list-parts.ts';

const candles = 'candles --exchange binance --base bitcoin --quote tether --interval m1,h1 --from 2024-03-01';

async function tracked(): Promise<Watched> {
  const watched = await openWatched();
  await watched.say(`track ${candles} --to 2024-03-21`);
  return watched;
}

const inSession = (words: string, env: Readonly<Record<string, string>>, size?: { columns: number; rows: number }) =>
  inTerminal([process.execPath, program, ...words.split(' ')], env, size);

async function drawn({ screen }: TerminalSession): Promise<void> {
  await waitFor('the screen to be drawn', () => /^left .*[\s\S]*%/m.test(screen.text()));
}

/** As it was before: nothing of what was drawn is left, and the cursor is there again. */
function expectRestored({ screen }: TerminalSession): void {
  expect(screen.isWhole).toBe(false);
  expect(screen.isCursorShown).toBe(true);
  expect(screen.text()).not.toContain('Tidemark');
  expect(screen.folded).toEqual([]);
}

function terminalTests() {
  it('draws the status in any size, follows a backfill to its end, and quits at q', async () => {
    const { env, json } = await tracked();
    const session = await inSession('status --watch --every 1s', env, { columns: 120, rows: 30 });
    await drawn(session);
    const { screen } = session;
    expect(screen.isWhole).toBe(true);
    expect(screen.isCursorShown).toBe(false);
    expect(screen.styles).toBeGreaterThan(0);
    expect(screen.text()).toMatch(/^left {6}21 windows/m);
    expect(screen.text()).toContain('budget    0 of 6,000 requests in the last minute');
    const barOf = () => /m1 (░+) {3}0\.00 %/.exec(screen.text())?.[1]?.length ?? 0;
    expect(barOf()).toBe(40);
    session.resize(40, 12);
    await waitFor('a smaller drawing', () => barOf() === 10);
    expect(screen.lines().length).toBeLessThanOrEqual(12);
    session.resize(100, 24);
    await waitFor('a larger drawing', () => barOf() === 40);

    const before = screen.lines()[0];
    await json(`backfill ${candles} --to 2024-03-21`);
    await waitFor('all of it to be covered', () => /m1 █+ {4}100 % done/.test(screen.text()));
    expect(screen.lines()[0]).not.toBe(before);
    expect(screen.text()).toMatch(/^left {6}no window$/m);
    expect(screen.text()).toMatch(/^answers {3}21 filled$/m);
    session.type('q');
    expect(await session.ended).toBe(0);
    expectRestored(session);
  });

  it('shows that the database is unreachable until it is back', async () => {
    const { env, url } = await tracked();
    const proxy = await proxyTo(url);
    const through = { ...env, DATABASE_URL: proxy.url, LOG_LEVEL: 'info' };
    const session = await inSession('status --watch --every 1s', through);
    await drawn(session);
    await proxy.cut();
    const isLost = () => /^offline .*DATABASE_UNREACHABLE/m.test(session.screen.text());
    await waitFor('the loss to be shown', isLost);
    expect(session.screen.text()).toMatch(/^left {6}21 windows/m);
    await proxy.mend();
    await waitFor('the screen to be online', () => !/^offline/m.test(session.screen.text()));
    await proxy.cut();
    await waitFor('the loss to be shown', isLost);
    session.type('\u0003');
    expect(await session.ended).toBe(130);
    expectRestored(session);
    // No log across what is drawn.
    expect(session.output()).not.toContain('"level"');
  });

  it('a backfill draws its bars and leaves them at the end', async () => {
    const { env } = await tracked();
    const session = await inSession(`backfill ${candles} --to 2024-03-21`, env, { columns: 40, rows: 20 });
    const { screen } = session;
    await waitFor('a bar', () => /m1 █*░+ +\d+\.\d\d %/.test(screen.text()));
    expect(screen.isCursorShown).toBe(false);
    expect(screen.isWhole).toBe(false);
    expect(await session.ended).toBe(0);
    const text = screen.text();
    expect(text).toMatch(/m1 █+ {4}100 %/);
    expect(text).toContain('nothing left');
    // Drawn over, and not one below the other.
    expect(text.match(/nothing left|windows left/g)).toHaveLength(1);
    expect(text).toMatch(/^complete: 21 requests/m);
    expect(screen.isCursorShown).toBe(true);
    // What is printed for good may be longer than a line.
    expect(screen.folded.filter((line) => !/^complete|^tidemark/.test(line))).toEqual([]);
  });
}

const missing = noPseudoTerminal();
if (missing === '') describe('on a terminal', terminalTests);
else describeMissing('on a terminal', `needs a pseudo-terminal: ${missing}`, terminalTests);

it('status --watch in a pipe prints a line per change, without escape codes, or a document per poll, and ends when the pipe closes', async () => {
  const { begin, json } = await tracked();
  const documents = begin('status --watch --json --every 1s');
  const watching = begin('status --watch --every 1s', { FORCE_COLOR: '1' });
  await waitFor('a line', () => watching.stdout().includes('\n'));
  await waitFor('two documents', () => documents.stdout().split('\n').length > 2);
  const [first = ''] = documents.stdout().split('\n');
  expect(JSON.parse(first)).toMatchObject({
    ...{ windowsLeft: 21, coveredSeconds: 0, etaSeconds: null },
    ...{ budget: { perMinute: 6000, lastMinute: 0 }, queue: { waiting: 0, workers: 0, paused: false } },
    ...{ gaps: { not_asked: 2 }, failures: {}, notice: null },
    groups: [
      { name: 'binance bitcoin/tether m1', series: 1, windowsLeft: 20 },
      { name: 'binance bitcoin/tether h1', series: 1, windowsLeft: 1 },
    ],
  });
  documents.leaveUnread();
  expect((await documents.ended).exitCode).toBe(0);

  await json(`backfill ${candles} --to 2024-03-21`);
  await waitFor('the news', () => /covered 100 %, no window left/.test(watching.stdout()));
  watching.kill('SIGINT');
  const { exitCode, stdout, stderr } = await watching.ended;
  expect([exitCode, stderr]).toEqual([130, '']);
  expect(stdout).not.toContain('\u001b');
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z no worker and no scheduler is connected: 21 windows left, covered 0\.00 %, 21 windows left, ETA -, 0 of 6,000 requests in the last minute, 0 points a second$/,
  );
  const said = lines.map((line) => line.slice(line.indexOf('Z ')));
  for (const [index, line] of said.entries()) expect(line).not.toBe(said[index - 1]);
});
