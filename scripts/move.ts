/** `tidemark move --to ADDRESS`: all that one database holds, to another one. */

import type { Command } from 'commander';
import { TidemarkError } from '../errors.ts';
import { writersPresent } from '../store/activity.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { type Moved, move } from '../store/move/move.ts';
import { settle } from '../store/move/settle.ts';
import { sideError } from '../store/move/side.ts';
import { refuseWhileInUse } from './in-use.ts';
import { type PointProgress, showPointProgress } from './point-progress.ts';
import { openSession } from './session.ts';
import { onStop } from './stop.ts';
import { count, counted, duration } from './wording.ts';

interface Options {
  readonly to: string;
  readonly json?: true;
}

export function moveCommand(program: Command): void {
  program
    .command('move')
    .description(
      'move all that is stored, the embedded database or the one DATABASE_URL names, to another database',
    )
    .requiredOption(
      '--to <url>',
      'address of the target, as DATABASE_URL has it; migrated, and empty. A password may be in ~/.pgpass',
    )
    .option('--json', 'print the outcome as JSON')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const to = targetOf(options.to);
  const startedMs = performance.now();
  const stop = onStop();
  const session = await openSession({ command: 'move', defaultLogLevel: 'error', handlesSignals: true });
  const target = openDatabase({
    url: to.href,
    applicationName: 'tidemark move',
    maxConnections: 4,
    statementTimeoutMs: session.config.database.statementTimeoutMs,
  });
  const progress = new MoveProgress(options.json === true);
  try {
    await refuseWhileInUse(session.database, session.config, session.log, 'move');
    await refuseTargetInUse(target);
    const moved = await move({
      from: session.database,
      to: target,
      signal: stop.signal,
      onTotal: (rows) => progress.begin(rows),
      onRows: (rows) => progress.add(rows),
      onCompare: () => progress.compare(),
    }).finally(() => progress.stop());
    if (options.json !== true) console.error('the same on both sides; bringing the rollups up to date');
    const note = await settled(target, moved, stop.signal);
    if (note !== null) console.error(note);
    if (options.json) console.log(JSON.stringify({ ...moved, tables: Object.fromEntries(moved.tables) }));
    else console.log(asText(moved, to, performance.now() - startedMs));
  } finally {
    await target.close();
    await session.close();
    stop.release();
  }
}

/** @throws TidemarkError BAD_ARGUMENT, which does not repeat what was given: it may hold a password. */
function targetOf(given: string): URL {
  if (URL.canParse(given)) {
    const url = new URL(given);
    if (url.protocol === 'postgres:' || url.protocol === 'postgresql:') return url;
  }
  throw new TidemarkError('BAD_ARGUMENT', '--to is not an address that begins with postgres://', {
    remedy: 'give it as DATABASE_URL has it: postgres://user@host:5432/database',
  });
}

/** @throws TidemarkError DATABASE_IN_USE, DATABASE_UNREACHABLE */
async function refuseTargetInUse(target: Database): Promise<void> {
  const present = await writersPresent(target).catch((error: unknown) => {
    throw sideError(error, 'target');
  });
  const others = present.filter((command) => command !== 'move');
  if (others.length === 0) return;
  throw new TidemarkError('DATABASE_IN_USE', `the target: ${others.join(' and ')} at work on this database`);
}

/** @returns what is to be said where that fails: by now all is moved. */
async function settled(target: Database, moved: Moved, signal: AbortSignal): Promise<string | null> {
  try {
    await settle(target, { tables: [...moved.tables.keys()], nowMs: Date.now(), signal });
    return signal.aborted ? 'rollups: stopped before they were up to date; their policies go on' : null;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `rollups: not up to date yet (${why}); their policies see to it`;
  }
}

class MoveProgress {
  readonly #quiet: boolean;
  #shown: PointProgress | undefined;
  #rows = 0;

  constructor(quiet: boolean) {
    this.#quiet = quiet;
  }

  begin(rows: number): void {
    this.#shown = showPointProgress('moving', { of: rows, quiet: this.#quiet, things: 'rows' });
  }

  add(rows: number): void {
    this.#rows += rows;
    this.#shown?.update(this.#rows);
  }

  compare(): void {
    this.stop();
    if (!this.#quiet) console.error(`all ${count(this.#rows)} rows are there; comparing both sides`);
  }

  stop(): void {
    this.#shown?.stop();
    this.#shown = undefined;
  }
}

function asText({ rows, tables, strange }: Moved, to: URL, durationMs: number): string {
  const shown = new URL(to);
  const hadPassword = shown.password !== '' || shown.searchParams.has('password');
  shown.password = '';
  shown.searchParams.delete('password');
  return [
    `moved ${counted(rows, 'row')} of ${counted(tables.size, 'table')}; both sides hold the same, digit by digit; ${duration(durationMs)}`,
    ...(strange.length === 0 ? [] : [`not moved, as no migration made it: ${strange.join(', ')}`]),
    `next: set DATABASE_URL=${shown.href}${hadPassword ? ', with its password,' : ''} for every process; nothing was taken away where it was`,
  ].join('\n');
}
