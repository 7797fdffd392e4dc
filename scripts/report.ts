/** Errors as a user sees them: one line with a code, the cause and the remedy. */

import { CommanderError } from 'commander';
import { exitCodes, TidemarkError } from '../errors.ts';
import { withoutSecrets } from '../log.ts';
import { explainDatabaseError } from '../store/failure.ts';

/** Prints the error on standard error. @returns the exit code. */
export function reportError(caught: unknown, secrets: readonly string[]): number {
  if (caught instanceof CommanderError) {
    // Commander has printed help and versions itself; its complaints come here as one line.
    if (caught.exitCode === 0) return exitCodes.ok;
    if (caught.code === 'commander.help') return exitCodes.usage;
    // A suggestion comes as a second line.
    print(`BAD_ARGUMENT: ${oneLine(caught.message.replace(/^error: /, ''))}; see --help`, secrets);
    return exitCodes.usage;
  }
  const error = explainDatabaseError(caught);
  if (error instanceof TidemarkError) {
    print(`${error.code}: ${oneLine(error.message)}; ${error.remedy}`, secrets);
    return error.exitCode;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  print(`UNEXPECTED: a defect of Tidemark's own, please report it: ${text}`, secrets);
  return exitCodes.unexpected;
}

function print(line: string, secrets: readonly string[]): void {
  process.stderr.write(`tidemark: ${withoutSecrets(line, secrets)}\n`);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
