import { describe, expect, it, onTestFinished } from 'vitest';
import { openActivityLog } from '../../runtime/activity-log.ts';
import { createLog } from '../../settings/log.ts';
import { startSimulator } from '../../simulator/start.ts';
import { describeMissing } from '../parts/describe-needing.ts';
import { inTerminal, noPseudoTerminal } from '../parts/pseudo-terminal.ts';
import { createTestClock } from '../parts/test-clock.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { program, tidemark } from '../scripts/command.ts';

it('logs what was done since the last line, and nothing when nothing was', async () => {
  const clock = createTestClock();
  const lines: { msg: string }[] = [];
  const log = createLog('info', { write: (line: string) => lines.push(JSON.parse(line)) });
  const activity = openActivityLog(log, clock);
  const stored = { dataset: 'candles', lane: 'backfill', commitMs: 1 } as const;
  activity.pass({ durationMs: 1, added: 1200 });
  activity.pass({ durationMs: 1, added: null });
  activity.worker.stored({ ...stored, summary: { fresh: 1440, changed: 1 } });
  activity.worker.stored({ ...stored, summary: { fresh: 0, changed: 0, rejected: 2 } });
  await clock.advance(59_999);
  expect(lines).toEqual([]);
  // The second minute has nothing to say.
  await clock.advance(60_001);
  activity.worker.deferred(stored);
  activity.worker.notStored({ isTransient: true });
  await activity.close();
  await activity.close();
  expect(lines.map(({ msg }) => msg)).toEqual([
    'queued 1,200 requests; stored 2 answers, 1,440 new points, 1 changed point, 2 rejected rows',
    'deferred 1 request; 1 failed commit',
  ]);
});

function terminalTests(): void {
  it('shows the log in readable lines, what was done included', async () => {
    const { url, drop } = await createMigratedDatabase();
    onTestFinished(drop);
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const env = { DATABASE_URL: url, SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '6000' };
    expect(await tidemark(['untrack', 'rates'], env)).toMatchObject({ exitCode: 0 });
    const series = ['--asset', 'bitcoin', '--interval', 'd1', '--from', '2024-01-01', '--to', '2024-02-01'];
    expect(await tidemark(['track', 'history', ...series], env)).toMatchObject({ exitCode: 0 });
    const session = await inTerminal([process.execPath, program, 'run', '--no-serve'], env, { columns: 200, rows: 50 });
    await waitFor('every point to be stored', async () => {
      const { stdout } = await tidemark(['status', '--json'], env);
      return JSON.parse(stdout).series[0].missingSeconds === 0;
    });
    session.kill('SIGTERM');
    expect(await session.ended).toBe(0);
    const text = session.screen.text();
    expect(text).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: run started source=http/m);
    expect(text).toMatch(/INFO: queued \d+ requests?; stored \d+ answers?, 30 new points/);
    expect(session.output()).toContain('\u001b[32mINFO');
  });
}

const missing = noPseudoTerminal();
if (missing === '') describe('a terminal', terminalTests);
else describeMissing('a terminal', `needs a pseudo-terminal: ${missing}`, terminalTests);
