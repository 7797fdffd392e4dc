/** Reports an error in one line, which a terminal wraps between words: code, cause and remedy. */

import { CommanderError } from 'commander';
import { exitCodes, TidemarkError } from '../../errors.ts';
import { unwritten } from '../../files/output.ts';
import { visible } from '../../model/names.ts';
import { withoutCredentials } from '../../redaction.ts';
import { wrapped } from './table.ts';

/** Codes of commander for words of which it does not say what is valid. */
const unknownWords: ReadonlySet<string> = new Set(['commander.unknownCommand', 'commander.unknownOption']);

/** Prints the error on standard error. @returns the exit code. */
export function reportError(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has printed help and version itself.
    if (error.exitCode === 0) return exitCodes.ok;
    if (error.code === 'commander.help') return exitCodes.usage;
    // Commander puts a suggestion on a second line.
    const cause = oneLine(error.message.replace(/^error: /, ''));
    const isKnown = !unknownWords.has(error.code) || cause.includes('Did you mean');
    print(withRemedy(`BAD_ARGUMENT: ${cause}`, isKnown ? '' : 'see --help'));
    return exitCodes.usage;
  }
  if (error instanceof TidemarkError) {
    print(withRemedy(`${error.code}: ${oneLine(error.message)}`, error.remedy));
    return error.exitCode;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  print(`UNEXPECTED: a bug in Tidemark, please report it: ${text}`);
  return exitCodes.unexpected;
}

function withRemedy(text: string, remedy: string): string {
  return remedy === '' ? text : `${text}; ${remedy}`;
}

/** What the user typed is repeated in it, with what cannot be seen, or changes the terminal, escaped. */
function print(text: string): void {
  const width = process.stderr.isTTY ? process.stderr.columns : null;
  const shown = withoutCredentials(text).split('\n').map(visible).join('\n');
  process.stderr.write(`${wrapped(`tidemark: ${shown}`, width)}\n`);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/**
 * Keeps the process running when standard output fails, because ending it would leave the embedded database running.
 * The error is reported at exit, unless the command failed. A closed pipe, as of `head`, is not an error.
 */
export function reportUnwrittenOutput(): void {
  let first: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') first ??= error;
  });
  // The last line of a command may fail after the work.
  process.on('exit', (exitCode) => {
    if (first === undefined || exitCode !== exitCodes.ok) return;
    process.exitCode = reportError(
      unwritten(first, 'free disk space or write elsewhere; the rest of the command succeeded'),
    );
  });
}
