import { expect, it, onTestFinished, vi } from 'vitest';
import { onStop } from '../../scripts/stop.ts';

it('takes a signal that comes twice within moments for one, and ends at once at a second one', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  onTestFinished(() => exit.mockRestore());
  let nowMs = 1000;
  const stop = onStop({ now: () => nowMs });
  onTestFinished(() => stop.release());
  process.emit('SIGINT');
  expect(stop.signal.aborted).toBe(true);
  process.emit('SIGINT');
  expect(exit).not.toHaveBeenCalled();
  nowMs += 1000;
  process.emit('SIGINT');
  expect(exit).toHaveBeenCalledWith(130);
});
