/** Windows that a command asked for and that have no answer, or not to all of them. */

import { TidemarkError } from '../errors.ts';
import type { SettledWindow } from './ask-windows.ts';
import { counted } from './wording.ts';

export function unansweredJson(windows: readonly SettledWindow[]) {
  return windows.map(({ window, message }) => ({
    seriesId: window.seriesId,
    start: new Date(window.startMs).toISOString(),
    end: new Date(window.endMs).toISOString(),
    message,
  }));
}

/**
 * @param what could not be done with them, such as `compared`.
 * @throws TidemarkError WINDOWS_UNANSWERED unless there is none.
 */
export function refuseUnanswered(windows: readonly SettledWindow[], what: string): void {
  const [first] = windows;
  if (first === undefined) return;
  throw new TidemarkError(
    'WINDOWS_UNANSWERED',
    `${counted(windows.length, 'window')} could not be ${what}, the first: ${first.message}`,
  );
}
