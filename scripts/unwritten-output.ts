/** Standard output that cannot be written: it ends no work, and the last line on standard error tells of it. */

import { exitCodes } from '../errors.ts';
import { unwritten } from '../files/standard-output.ts';
import { reportError } from './report.ts';

/**
 * A reader that leaves, such as `head`, is not an error: what there is to do is done, and the exit code tells of it.
 * Nor may an output that cannot be written end the process: it would leave the embedded database running. It is
 * reported when the process ends, unless the work failed by itself.
 */
export function reportUnwrittenOutput(): void {
  let first: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') first ??= error;
  });
  // The last line of a command may fail after all else is over.
  process.on('exit', (exitCode) => {
    if (first === undefined || exitCode !== exitCodes.ok) return;
    process.exitCode = reportError(unwritten(first, 'make room, or write elsewhere; all else was done'), []);
  });
}
