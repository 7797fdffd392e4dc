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
  await waitFor('the table to be drawn', () => /^id +series/m.test(screen.text()));
}

function terminalTests() {
  it('status --watch draws the status again in place, in any size, and follows a backfill to its end', async () => {
    const { env, json } = await tracked();
    const session = await inSession('status --watch --every 1s', env, { columns: 120, rows: 30 });
    await drawn(session);
    const { screen } = session;
    expect(screen.isCursorShown).toBe(false);
    expect(screen.text()).toMatch(/^budget: 0 of 6,000 requests in the last minute$/m);
    expect(screen.text()).toMatch(/bitcoin\/tether m1 .* 0\.00 %/);
    // A small terminal shows the head.
    session.resize(60, 8);
    await waitFor('a smaller drawing', () => screen.lines().length <= 8);
    expect(screen.lines()[0]).toMatch(/Z, every 1 s; Ctrl-C ends$/);
    session.resize(120, 30);
    await drawn(session);

    const before = screen.lines()[0];
    await json(`backfill ${candles} --to 2024-03-21`);
    await waitFor('all of it to be covered', () => /bitcoin\/tether m1 .* 100 %/.test(screen.text()));
    expect(screen.lines()[0]).not.toBe(before);
    session.type('\u0003');
    expect(await session.ended).toBe(130);
    // The last table stays, once.
    expect(screen.isCursorShown).toBe(true);
    expect(screen.text().match(/^id +series/gm)).toHaveLength(1);
    expect(screen.folded).toEqual([]);
  });

  it('status --watch shows that the database is unreachable until it is back', async () => {
    const { env, url } = await tracked();
    const proxy = await proxyTo(url);
    const through = { ...env, DATABASE_URL: proxy.url, LOG_LEVEL: 'info' };
    const session = await inSession('status --watch --every 1s', through, { columns: 120, rows: 30 });
    await drawn(session);
    await proxy.cut();
    const isLost = () => /^DATABASE_UNREACHABLE: .*; retrying$/m.test(session.screen.text());
    await waitFor('the loss to be shown', isLost);
    expect(session.screen.text()).toMatch(/^id +series/m);
    await proxy.mend();
    await waitFor('the loss to be over', () => !isLost());
    await proxy.cut();
    await waitFor('the loss to be shown', isLost);
    session.type('\u0003');
    expect(await session.ended).toBe(130);
    // No log across what is drawn.
    expect(session.output()).not.toContain('"level"');
  });

  it('a backfill draws its bars and leaves them at the end', async () => {
    const { env } = await tracked();
    const session = await inSession(`backfill ${candles} --to 2024-03-21`, env, { columns: 40, rows: 20 });
    const { screen } = session;
    await waitFor('a bar', () => /m1 █*░+ +\d+\.\d\d %/.test(screen.text()));
    expect(screen.isCursorShown).toBe(false);
    expect(await session.ended).toBe(0);
    const text = screen.text();
    expect(text).toMatch(/m1 █+ {4}100 %/);
    expect(text).toContain('nothing left');
    // Drawn over, and not one below the other.
    expect(text.match(/nothing left|requests to go/g)).toHaveLength(1);
    expect(text).toMatch(/^complete: 21 requests/m);
    expect(screen.isCursorShown).toBe(true);
    // What is printed for good may be longer than a line.
    expect(screen.folded.filter((line) => !/^complete|^tidemark/.test(line))).toEqual([]);
  });
}

const missing = noPseudoTerminal();
if (missing === '') describe('on a terminal', terminalTests);
else describeMissing('on a terminal', `needs a pseudo-terminal: ${missing}`, terminalTests);

it('status --watch prints the status or a document each time in a pipe, and ends when the pipe closes', async () => {
  const { begin, json } = await tracked();
  const documents = begin('status --watch --json --every 1s');
  const watching = begin('status --watch --every 1s', { FORCE_COLOR: '1' });
  await waitFor('a table', () => watching.stdout().includes('m1'));
  await waitFor('two documents', () => documents.stdout().split('\n').length > 2);
  const [first = ''] = documents.stdout().split('\n');
  expect(JSON.parse(first)).toMatchObject({
    windowsLeft: 21,
    requests: 21,
    coveredSeconds: 0,
    etaSeconds: null,
    waiting: null,
    budget: { perMinute: 6000 },
  });
  documents.leaveUnread();
  expect((await documents.ended).exitCode).toBe(0);

  await json(`backfill ${candles} --to 2024-03-21`);
  await waitFor('the news', () => /m1 .* 100 %/.test(watching.stdout()));
  watching.kill('SIGINT');
  const { exitCode, stdout, stderr } = await watching.ended;
  expect([exitCode, stderr]).toEqual([130, '']);
  expect(stdout).not.toContain('\u001b');
  const [, ...tables] = stdout.split(/^\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?Z\n/m);
  for (const table of tables) expect(table).toMatch(/^[^\n]+\n[\s\S]*^budget: [\s\S]*^id +series[\s\S]*\n\n$/m);
  expect(tables[0]).toMatch(/^no worker and no scheduler is connected: 21 of 21 requests to go/);
});
