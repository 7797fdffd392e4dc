/** Standard output as a place to write rows to. */

import { TidemarkError } from '../errors.ts';
import type { Output } from './row-writer.ts';
import { reasonOf } from './whole-file.ts';

/** @throws TidemarkError from `write`: INTERRUPTED when the reader has left, else FILE_NOT_WRITTEN. */
export function standardOutput(stream: NodeJS.WritableStream = process.stdout): Output {
  return {
    write: (bytes) =>
      new Promise((done, fail) => {
        stream.write(bytes, (error) => (error ? fail(explained(error)) : done()));
      }),
  };
}

function explained(error: NodeJS.ErrnoException): TidemarkError {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') {
    return new TidemarkError('INTERRUPTED', 'the reader of the output left before its end', {
      cause: error,
      remedy: 'nothing is wrong if that was meant, as with `| head`',
    });
  }
  return unwritten(error, 'make room, or write elsewhere; what was written there before is not whole');
}

export function unwritten(error: NodeJS.ErrnoException, remedy: string): TidemarkError {
  return new TidemarkError('FILE_NOT_WRITTEN', `standard output: ${reasonOf(error)}`, {
    cause: error,
    remedy,
  });
}
