/** The command line: every command is a file in commands/. */

import { Command } from 'commander';
import { exitCodes } from '../errors.ts';
import { version } from '../version.ts';
import { reportError } from './output/report-error.ts';

type AddCommand = (program: Command) => void;

const services = async (): Promise<AddCommand> => (await import('./commands/run.ts')).serviceCommands;

/** Modules are loaded on demand: loading all of them takes ten times as long. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
  track: async () => (await import('./commands/track.ts')).trackCommand,
  untrack: async () => (await import('./commands/untrack.ts')).untrackCommand,
  apply: async () => (await import('./commands/apply.ts')).applyCommand,
  backfill: async () => (await import('./commands/backfill.ts')).backfillCommand,
  plan: async () => (await import('./commands/plan.ts')).planCommand,
  run: services,
  scheduler: services,
  worker: services,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  gaps: async () => (await import('./commands/gaps.ts')).gapsCommand,
  why: async () => (await import('./commands/why.ts')).whyCommand,
  verify: async () => (await import('./commands/verify.ts')).verifyCommand,
  repair: async () => (await import('./commands/repair.ts')).repairCommand,
  export: async () => (await import('./commands/export.ts')).exportCommand,
  import: async () => (await import('./commands/import.ts')).importCommand,
  move: async () => (await import('./commands/move.ts')).moveCommand,
  retention: async () => (await import('./commands/retention.ts')).retentionCommand,
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  keys: async () => (await import('./commands/keys.ts')).keysCommand,
  viewer: async () => (await import('./commands/viewer.ts')).viewerCommand,
  board: async () => (await import('./commands/board.ts')).boardCommand,
  simulate: async () => (await import('./commands/simulate.ts')).simulateCommand,
  demo: async () => (await import('./commands/demo.ts')).demoCommand,
};

const exitCodesHelp = `
Exit codes:
  0    done
  1    a bug in Tidemark
  2    a wrong argument or variable; nothing was done
  3    the work ended with missing ranges or rejected rows
  4    the source refused, could not be reached, or is no Market Data Service
  5    the database could not be used
  6    the queue could not be used
  7    stored points differ from the source or from an imported file
  8    a file could not be written or used
  9    the work ended, and empty ranges await a second answer
  10   the work ended, and rows of the source were rejected
  130  interrupted before the work was complete

Configuration is by environment variables, or a .env file: see .env.example.`;

/** Runs one command. Prints what it reports, errors included. @returns the exit code. */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  const program = new Command('tidemark')
    .description("An exact, complete copy of a market data service's history in your own TimescaleDB.")
    .version(version)
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ writeErr: (text) => writeUnlessError(text) })
    .addHelpText('after', exitCodesHelp);
  try {
    for (const add of await called(words)) add(program);
    await program.parseAsync(words, { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    return reportError(error);
  }
}

/** Loads the called command; help and an unknown command need all. */
async function called(words: readonly string[]): Promise<readonly AddCommand[]> {
  const load = commands[words[0] ?? ''];
  if (load !== undefined) return [await load()];
  if (words[0] === '--version' || words[0] === '-V') return [];
  const all = await Promise.all(Object.values(commands).map((one) => one()));
  return [...new Set(all)];
}

/** `reportError` prints errors. */
function writeUnlessError(text: string): void {
  if (!text.startsWith('error:')) process.stderr.write(text);
}
