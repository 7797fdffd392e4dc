/** The command line: commands/ declares its commands, actions/ has what they do. */

import { Command, CommanderError } from 'commander';
import { aboutEmbedded, exitCodes, TidemarkError } from '../errors.ts';
import { version } from '../version.ts';
import { reportError } from './output/report-error.ts';

/** @param completed the words that `complete` completes. */
type AddCommand = (program: Command, completed?: readonly string[]) => void | Promise<void>;

interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<AddCommand>;
}

/** A declaration is loaded when its command is called, and its action only for valid arguments: help and mistakes are cheap. */
const commands: Readonly<Record<string, CommandEntry>> = {
  migrate: {
    summary: 'migrate the database schema up or down',
    load: async () => (await import('./commands/migrate.ts')).migrateCommand,
  },
  track: {
    summary: 'track series, which `run` backfills and refreshes, and lists, which it polls',
    load: async () => (await import('./commands/track.ts')).trackCommand,
  },
  untrack: {
    summary: 'untrack a series or a list; stored points stay',
    load: async () => (await import('./commands/track.ts')).untrackCommand,
  },
  apply: {
    summary: 'apply the watch list: show the changes and their cost, then make them; stored points stay',
    load: async () => (await import('./commands/apply.ts')).applyCommand,
  },
  backfill: {
    summary: 'track series and fetch the range until no gap is left; exits 0 only then',
    load: async () => (await import('./commands/backfill.ts')).backfillCommand,
  },
  sources: {
    summary: 'show the sources: limits, use, series, outages and pauses',
    load: async () => (await import('./commands/sources.ts')).sourcesCommand,
  },
  markets: {
    summary: 'list the markets of a source',
    load: async () => (await import('./commands/sources.ts')).marketsCommand,
  },
  plan: {
    summary: 'show the cost of what is missing (requests, time, points, disk) and of staying fresh',
    load: async () => (await import('./commands/plan.ts')).planCommand,
  },
  run: {
    summary:
      'run scheduler, worker and service in one process: keep every tracked series complete and fresh, and serve it',
    load: async () => (await import('./commands/run.ts')).runCommand,
  },
  scheduler: {
    summary: 'plan fetches and keep the queue filled for workers',
    load: async () => (await import('./commands/run.ts')).schedulerCommand,
  },
  worker: {
    summary: 'fetch and store the planned windows; any number of workers share one budget',
    load: async () => (await import('./commands/run.ts')).workerCommand,
  },
  status: {
    summary: 'show tracked, covered and missing ranges, the budget and the queue',
    load: async () => (await import('./commands/status.ts')).statusCommand,
  },
  gaps: {
    summary: 'show every gap: tracked, closed and not stored',
    load: async () => (await import('./commands/gaps.ts')).gapsCommand,
  },
  why: {
    summary: 'explain one series: what is covered, what is missing and why, what comes next',
    load: async () => (await import('./commands/why.ts')).whyCommand,
  },
  verify: {
    summary: 'request covered windows again and compare them digit by digit; changes nothing',
    load: async () => (await import('./commands/verify.ts')).verifyCommand,
  },
  repair: {
    summary: 'request differing and old empty ranges again, and store the answers',
    load: async () => (await import('./commands/repair.ts')).repairCommand,
  },
  retry: {
    summary: 'make failed and refused ranges due now, instead of after their delay',
    load: async () => (await import('./commands/requests.ts')).retryCommand,
  },
  pause: {
    summary: 'request nothing until `resume`, on all machines; stored points are served',
    load: async () => (await import('./commands/requests.ts')).pauseCommand,
  },
  resume: { summary: 'end a `pause`', load: async () => (await import('./commands/requests.ts')).resumeCommand },
  export: {
    summary: 'export points exactly, with a sidecar that states their coverage',
    load: async () => (await import('./commands/export.ts')).exportCommand,
  },
  lake: {
    summary: 'write new and changed months as Parquet, partitioned for DuckDB, Polars, Spark and others',
    load: async () => (await import('./commands/lake.ts')).lakeCommand,
  },
  import: {
    summary: 'store files of `export` or candle files of other programs, with their coverage',
    load: async () => (await import('./commands/import.ts')).importCommand,
  },
  move: {
    summary: 'move all data from the embedded database or DATABASE_URL to another database',
    load: async () => (await import('./commands/move.ts')).moveCommand,
  },
  retention: {
    summary: 'how long points are kept (default: forever)',
    load: async () => (await import('./commands/retention.ts')).retentionCommand,
  },
  serve: {
    summary: 'serve the stored data over the interface of a Market Data Service',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  keys: {
    summary: "the service's keys: requested, issued, revoked",
    load: async () => (await import('./commands/keys.ts')).keysCommand,
  },
  viewer: {
    summary: 'create a read-only database role, such as for Grafana',
    load: async () => (await import('./commands/viewer.ts')).viewerCommand,
  },
  simulate: {
    summary: 'serve synthetic data as a Market Data Service or as an exchange',
    load: async () => (await import('./commands/simulate.ts')).simulateCommand,
  },
  demo: {
    summary: 'try Tidemark: embedded database, synthetic source, backfill, refresh, SQL',
    load: async () => (await import('./commands/demo.ts')).demoCommand,
  },
  // The last one: it completes those before it.
  complete: {
    summary: 'print the completion script of a shell: bash, zsh or fish',
    load: async () => (await import('./commands/complete.ts')).completeCommand,
  },
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
export async function runCommandLine(typed: readonly string[]): Promise<number> {
  const words = typed[0] === 'help' ? [...typed.slice(1), '--help'] : typed;
  try {
    const completed = words[0] === 'complete' && words[1] === '--' ? words.slice(2) : undefined;
    const program = await createProgram((name) => name === words[0] || name === completed?.[0], completed);
    await program.parseAsync(words, { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    // Loaded on demand: it needs the database's client.
    const isOwn = error instanceof CommanderError || error instanceof TidemarkError;
    const explained = isOwn ? error : (await import('../store/db/failure.ts')).explainDatabaseError(error);
    const { DATABASE_URL: url = '', TIDEMARK_DIR: directory = '.tidemark' } = process.env;
    return reportError(url === '' ? aboutEmbedded(explained, directory) : explained);
  }
}

/**
 * @param isLoaded whether a command gets its arguments and options; the others are lines of the help.
 * @param completed the words that `complete` completes; absent: it prints scripts.
 */
export async function createProgram(
  isLoaded: (name: string) => boolean,
  completed?: readonly string[],
): Promise<Command> {
  const program = new Command('tidemark')
    .description("An exact, complete copy of a market data service's history in your own TimescaleDB.")
    .version(version)
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ writeErr: (text) => writeUnlessError(text) })
    .addHelpText('after', exitCodesHelp);
  for (const [name, { summary, load }] of Object.entries(commands)) {
    if (isLoaded(name)) await (await load())(program, completed);
    if (program.commands.every((command) => command.name() !== name)) program.command(name);
    program.commands.find((command) => command.name() === name)?.description(summary);
  }
  return program;
}

/** `reportError` prints errors. */
function writeUnlessError(text: string): void {
  if (!text.startsWith('error:')) process.stderr.write(text);
}
