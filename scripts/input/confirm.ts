/** Confirms an irreversible action: the user repeats a name. */

import { createInterface } from 'node:readline/promises';
import { badArgument, TidemarkError } from '../../errors.ts';

/** Prompts the user. @returns the typed line. */
export type Ask = (question: string) => Promise<string>;

export interface Confirmation {
  readonly name: string;
  readonly consequence: string;
  /** From the command line; absent: prompt for it. */
  readonly given: string | undefined;
  /** Null: no terminal. */
  readonly ask: Ask | null;
}

/** @throws TidemarkError BAD_ARGUMENT unless the name was given. */
export async function confirmByName({ name, consequence, given, ask }: Confirmation): Promise<void> {
  if (given === undefined && ask === null) {
    throw badArgument(consequence.replace(/\.$/, ''), `add --confirm ${name} to confirm`);
  }
  const answer = given ?? (await ask?.(`${consequence}\nType ${name} to confirm: `)) ?? '';
  if (answer.trim() === name) return;
  throw badArgument(
    `${JSON.stringify(answer)} does not confirm it; nothing was done`,
    `give ${name}, the dataset's name`,
  );
}

/**
 * The same for what `--yes` confirms beforehand: the user types a word.
 *
 * @throws TidemarkError BAD_ARGUMENT unless it was typed.
 */
export async function confirmByWord(word: string, consequence: string, ask: Ask | null): Promise<void> {
  if (ask === null) throw badArgument(consequence.replace(/\.$/, ''), 'add --yes to confirm');
  const answer = await ask(`${consequence}\nType ${word} to confirm: `);
  if (answer.trim() !== word)
    throw badArgument(`${JSON.stringify(answer)} does not confirm it; nothing was done`, `type ${word}`);
}

/**
 * Prompts on the terminal. Ctrl-C, Ctrl-D and `signal` throw INTERRUPTED. @returns null: input or output is not a
 * terminal.
 */
export function askOnTerminal(signal: AbortSignal): Ask | null {
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) return null;
  return async (question) => {
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    // While it reads, Ctrl-C is a key, not a signal. It closes the input, like Ctrl-D and a closed terminal.
    const closed = new AbortController();
    lines.once('close', () => closed.abort());
    try {
      return await lines.question(question, { signal: AbortSignal.any([signal, closed.signal]) });
    } catch (error) {
      if (!signal.aborted && !closed.signal.aborted) throw error;
      process.stdout.write('\n');
      throw new TidemarkError('INTERRUPTED', 'stopped before any change', {
        cause: error,
        remedy: 'run the same command again: it asks again',
      });
    } finally {
      lines.close();
    }
  };
}
