import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until `condition` holds, asking again every `everyMs`.
 * @throws Error naming `what` after `withinMs`: a limit for a condition that never comes, not a measure of speed.
 */
export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { everyMs = 25, withinMs = 60_000 }: { everyMs?: number; withinMs?: number } = {},
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms in vain for: ${what}`);
    await delay(everyMs);
  }
}
