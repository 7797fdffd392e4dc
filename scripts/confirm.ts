/** What cannot be undone is done only when the name of what it happens to is given a second time. */

import { createInterface } from 'node:readline/promises';
import { TidemarkError } from '../errors.ts';

/** Puts a question to a person and gives the line they type. */
export type Ask = (question: string) => Promise<string>;

export interface Confirmation {
  readonly name: string;
  /** A sentence that says what is going to happen. */
  readonly consequence: string;
  /** The name from the command line; absent: it is asked for. */
  readonly given: string | undefined;
  /** Null where there is no one to ask. */
  readonly ask: Ask | null;
}

/** @throws TidemarkError BAD_ARGUMENT unless the name was given. */
export async function confirmByName({ name, consequence, given, ask }: Confirmation): Promise<void> {
  if (given === undefined && ask === null) {
    throw new TidemarkError('BAD_ARGUMENT', consequence.replace(/\.$/, ''), {
      remedy: `add --confirm ${name} when that is meant`,
    });
  }
  const answer = given ?? (await ask?.(`${consequence}\nType ${name} to confirm: `)) ?? '';
  if (answer.trim() === name) return;
  throw new TidemarkError('BAD_ARGUMENT', `${JSON.stringify(answer)} does not confirm it; nothing was done`, {
    remedy: `give ${name}, the dataset's name`,
  });
}

/**
 * Asks on the terminal; null where input or output is none. Whoever leaves instead of answering, by Ctrl-C, Ctrl-D or
 * `signal`, gets INTERRUPTED.
 */
export function askOnTerminal(signal: AbortSignal): Ask | null {
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) return null;
  return async (question) => {
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    // While it reads, Ctrl-C is a key and no signal. It closes the input, as Ctrl-D and a terminal that is gone do.
    const closed = new AbortController();
    lines.once('close', () => closed.abort());
    try {
      return await lines.question(question, { signal: AbortSignal.any([signal, closed.signal]) });
    } catch (error) {
      if (!signal.aborted && !closed.signal.aborted) throw error;
      process.stdout.write('\n');
      throw new TidemarkError('INTERRUPTED', 'stopped before anything was changed', {
        cause: error,
        remedy: 'run the same command again: it asks again',
      });
    } finally {
      lines.close();
    }
  };
}
