import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { onStop } from '../../runtime/lifecycle.ts';
import { waitFor } from '../parts/wait-for.ts';
import { processesMs, start } from '../scripts/command.ts';

it('counts a signal that arrives twice at once as one, and exits at the second', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  onTestFinished(() => exit.mockRestore());
  let nowMs = 1000;
  const stop = onStop({ clock: { monotonicMs: () => nowMs } });
  onTestFinished(() => stop.release());
  process.emit('SIGINT');
  expect(stop.signal.aborted).toBe(true);
  process.emit('SIGINT');
  expect(exit).not.toHaveBeenCalled();
  nowMs += 1000;
  process.emit('SIGINT');
  expect(exit).toHaveBeenCalledWith(130);
});

it(
  'a scheduler reports what its start waits for, and stops at SIGTERM',
  async () => {
    // Takes connections, and says nothing.
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const env = { DATABASE_URL: `postgres://tidemark@127.0.0.1:${port}/none` };
    const scheduler = start(['scheduler'], env);
    await waitFor('a line about its wait', () => scheduler.stderr().includes('waiting for the database'));
    scheduler.kill('SIGTERM');
    const ended = await scheduler.ended;
    expect(ended).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('scheduler stopped') });
    // Before it would have given up by itself.
    expect(ended.stderr).not.toContain('DATABASE_UNREACHABLE');
  },
  processesMs,
);
