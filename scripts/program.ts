/** The command line: commands/ declares its commands, actions/ has what they do. */

import { Command, CommanderError } from 'commander';
import { aboutEmbedded, badArgument, exitCodes, TidemarkError } from '../errors.ts';
import { version } from '../version.ts';
import { reportError } from './output/report-error.ts';

/** Functions that declare the arguments and options of a command, each by its name. */
type Declarations = Readonly<Record<`${string}Command`, (command: Command) => void>>;

/**
 * A declaration is loaded when its command is called, and its action only for valid arguments: help and mistakes are
 * cheap.
 */
const commands: Readonly<Record<string, readonly [summary: string, declarations: () => Promise<Declarations>]>> = {
  migrate: ['migrate the database schema up or down', () => import('./commands/migrate.ts')],
  track: [
    'track series, which `run` backfills and refreshes, and lists, which it polls',
    () => import('./commands/track.ts'),
  ],
  untrack: [
    'untrack a series or a list; stored points stay, unless --delete-data deletes them',
    () => import('./commands/track.ts'),
  ],
  apply: [
    'apply the watch list: show the changes and their cost, then make them; stored points stay',
    () => import('./commands/apply.ts'),
  ],
  backfill: [
    'track series and fetch the range until no gap is left; exits 0 only then',
    () => import('./commands/backfill.ts'),
  ],
  backfills: [
    'what asks for ranges: who, progress, answers, failures; cancel one',
    () => import('./commands/backfill.ts'),
  ],
  sources: ['show the sources: limits, use, series, outages and pauses', () => import('./commands/sources.ts')],
  markets: ['list the markets of a source', () => import('./commands/sources.ts')],
  plan: [
    'show the cost of what is missing (requests, time, points, disk) and of staying fresh',
    () => import('./commands/plan.ts'),
  ],
  run: [
    'run scheduler, worker and service in one process: keep every tracked series complete and fresh, and serve it',
    () => import('./commands/run.ts'),
  ],
  scheduler: ['plan fetches and keep the queue filled for workers', () => import('./commands/run.ts')],
  worker: [
    'fetch and store the planned windows; any number of workers share one budget',
    () => import('./commands/run.ts'),
  ],
  status: ['show tracked, covered and missing ranges, the budget and the queue', () => import('./commands/status.ts')],
  gaps: ['show every gap: tracked, closed and not stored', () => import('./commands/gaps.ts')],
  why: [
    'explain one series: what is covered, what is missing and why, what comes next',
    () => import('./commands/why.ts'),
  ],
  quality: [
    'report what is odd in stored points: inconsistent or stale prices, spikes, silences, revisions',
    () => import('./commands/quality.ts'),
  ],
  verify: [
    'request covered windows again and compare them digit by digit; changes nothing',
    () => import('./commands/recheck.ts'),
  ],
  repair: [
    'request differing and old empty ranges again, and store the answers',
    () => import('./commands/recheck.ts'),
  ],
  retry: [
    'make failed and refused ranges due now, instead of after their delay',
    () => import('./commands/requests.ts'),
  ],
  pause: [
    'request nothing until `resume`, on all machines; stored points are served',
    () => import('./commands/requests.ts'),
  ],
  resume: ['end a `pause`', () => import('./commands/requests.ts')],
  notify: [
    'show who is told when the headline changes, and what they were told; --test sends a message',
    () => import('./commands/notify.ts'),
  ],
  export: ['export points exactly, with a sidecar that states their coverage', () => import('./commands/export.ts')],
  lake: [
    'write new and changed months as Parquet, partitioned for DuckDB, Polars, Spark and others',
    () => import('./commands/lake.ts'),
  ],
  import: [
    'store files of `export` or candle files of other programs, with their coverage',
    () => import('./commands/import.ts'),
  ],
  move: [
    'move all data from the embedded database or DATABASE_URL to another database',
    () => import('./commands/move.ts'),
  ],
  retention: ['how long points are kept (default: forever)', () => import('./commands/retention.ts')],
  serve: ['serve the stored data over the interface of a Market Data Service', () => import('./commands/serve.ts')],
  keys: ["the service's keys: requested, issued, revoked", () => import('./commands/keys.ts')],
  viewer: ['create a read-only database role, such as for Grafana', () => import('./commands/keys.ts')],
  simulate: ['serve synthetic data as a Market Data Service or as an exchange', () => import('./commands/simulate.ts')],
  demo: [
    'try Tidemark: embedded database, synthetic source, backfill, refresh, SQL',
    () => import('./commands/demo.ts'),
  ],
  // The last one: it completes those before it.
  complete: ['print the completion script of a shell: bash, zsh or fish', () => import('./commands/complete.ts')],
};

const exitCodesHelp = `
Exit codes:
  0    done
  1    a bug in Tidemark
  2    a wrong argument or variable; nothing was done
  3    the work ended with missing ranges or rejected rows
  4    the source refused, could not be reached, or is no Market Data Service
  5    the database could not be used
  6    requests are paused, or the queue could not be used or has no worker
  7    stored points differ from the source or from an imported file
  8    a file could not be written or used
  9    the work ended, and ranges that came back empty are asked again to be sure
  10   the work ended, and rows of the source were rejected
  11   a message was not delivered
  130  interrupted or cancelled before the work was complete

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
    // `reportError` prints errors.
    .configureOutput({ writeErr: (text) => void (text.startsWith('error:') || process.stderr.write(text)) })
    .hook('preAction', (_, command) => refuseEmpty(command))
    .addHelpText('after', exitCodesHelp);
  for (const [name, [summary, declarations]] of Object.entries(commands)) {
    if (name === 'complete' && completed !== undefined)
      await (await import('./actions/complete.ts')).addSuggestions(program, completed);
    else {
      const command = program.command(name).description(summary);
      if (isLoaded(name)) (await declarations())[`${name}Command`]?.(command);
    }
  }
  return program;
}

/** `lake "$LAKE"` with an unset variable would write into the working directory. @throws TidemarkError BAD_ARGUMENT */
function refuseEmpty(command: Command): void {
  const isEmpty = (value: unknown) => [value].flat().some((one) => typeof one === 'string' && one.trim() === '');
  const option = command.options.find((one) => isEmpty(command.getOptionValue(one.attributeName())))?.long;
  const place = command.processedArgs.findIndex(isEmpty);
  const name = option ?? command.registeredArguments[place]?.name();
  // Its words are those of a command that is being typed.
  if (name === undefined || command.name() === 'complete') return;
  throw badArgument(`${name} is empty`, 'a variable of the shell may be unset');
}
