/** `tidemark move --to ADDRESS`: moves all data of a database to another one. */

import type { Clock } from '../../clock.ts';
import { badArgument, messageOf, TidemarkError } from '../../errors.ts';
import { counted, formatDuration } from '../../model/format.ts';
import type { PointProgress } from '../../planning/progress.ts';
import { withContext } from '../../runtime/context.ts';
import { refuseWhileInUse } from '../../runtime/in-use.ts';
import { listWriters } from '../../store/db/activity.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { sideError } from '../../transfer/move/connection.ts';
import { type Moved, move, refreshTarget } from '../../transfer/move/move.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showPointProgress } from '../output/progress.ts';

export interface Options {
  readonly to: string;
  readonly json?: true;
}

export async function run(options: Options): Promise<void> {
  const to = targetOf(options.to);
  await withContext({ command: 'move', needsDatabase: true, handlesSignals: true }, async (context, signal) => {
    const startedMs = context.clock.monotonicMs();
    const target = openDatabase({
      url: to.href,
      applicationName: 'tidemark move',
      maxConnections: 4,
      statementTimeoutMs: context.config.database.statementTimeoutMs,
    });
    let progress: PointProgress | undefined;
    let copied = 0;
    try {
      await refuseWhileInUse(context.database, context, 'move');
      await refuseTargetInUse(target);
      const moved = await move({
        from: context.database,
        to: target,
        signal,
        onTotal(of) {
          progress = showPointProgress(context.clock, 'moving', of, 'rows');
        },
        onRows(rows) {
          copied += rows;
          progress?.update(copied);
        },
        onTable(step, { name, number, of }) {
          if (step === 'comparing') progress?.stop();
          context.phase(`${step} tidemark.${name}`, `table ${number} of ${of}`);
        },
      }).finally(() => progress?.stop());
      context.phase('refreshing the rollups');
      const note = await refreshMoved(target, moved, { clock: context.clock, signal });
      if (note !== null) console.error(note);
      const document: JsonDocument<'move'> = { ...moved, tables: Object.fromEntries(moved.tables) };
      if (options.json) console.log(JSON.stringify(document));
      else console.log(asText(moved, to, context.clock.monotonicMs() - startedMs));
    } finally {
      await target.close();
    }
  });
}

/** @throws TidemarkError BAD_ARGUMENT without the address, which may contain a password. */
function targetOf(given: string): URL {
  if (URL.canParse(given)) {
    const url = new URL(given);
    if (url.protocol === 'postgres:' || url.protocol === 'postgresql:') return url;
  }
  throw badArgument(
    '--to is not an address that begins with postgres://',
    'give an address like DATABASE_URL: postgres://user@host:5432/database',
  );
}

/** @throws TidemarkError DATABASE_IN_USE, DATABASE_UNREACHABLE */
async function refuseTargetInUse(target: Database): Promise<void> {
  const present = await listWriters(target).catch((error: unknown) => {
    throw sideError(error, 'target');
  });
  const others = present.filter((command) => command !== 'move');
  if (others.length === 0) return;
  throw new TidemarkError('DATABASE_IN_USE', `the target is in use by ${others.join(' and ')}`);
}

/** @returns a message if the refresh fails: all data is moved by now. */
async function refreshMoved(
  target: Database,
  moved: Moved,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string | null> {
  try {
    await refreshTarget(target, { tables: [...moved.tables.keys()], clock, signal });
    return signal.aborted ? 'rollups: stopped before they were current; the scheduler refreshes them' : null;
  } catch (error) {
    return `rollups: not up to date yet (${messageOf(error)}); the scheduler refreshes them`;
  }
}

function asText({ rows, tables, foreignTables }: Moved, to: URL, durationMs: number): string {
  const shown = new URL(to);
  const hadPassword = shown.password !== '' || shown.searchParams.has('password');
  shown.password = '';
  shown.searchParams.delete('password');
  return [
    `moved ${counted(rows, 'row')} of ${counted(tables.size, 'table')}; both sides are equal, digit by digit; ` +
      `${formatDuration(durationMs)}`,
    ...(foreignTables.length === 0 ? [] : [`not moved, because no migration created it: ${foreignTables.join(', ')}`]),
    `next: set DATABASE_URL=${shown.href}${hadPassword ? ', with its password,' : ''} for every process; the ` +
      'source database is unchanged',
  ].join('\n');
}
