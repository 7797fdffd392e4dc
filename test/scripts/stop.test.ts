import { getEventListeners } from 'node:events';
import { expect, it, onTestFinished, vi } from 'vitest';
import { onStop, unlessStopped } from '../../scripts/stop.ts';

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

it('waits for work until it is stopped, and leaves nothing behind with the signal', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  expect(await unlessStopped(Promise.resolve(1), signal)).toBe(1);
  await expect(unlessStopped(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  const never = unlessStopped(new Promise(() => {}), signal);
  controller.abort();
  expect(await never).toBeUndefined();
  expect(await unlessStopped(Promise.reject(new Error('too late')), signal)).toBeUndefined();
});
