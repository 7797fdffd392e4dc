/**
 * Keeps the lake of the watch list fresh while the scheduler runs. The file is read at each look, so that a lake may be
 * added, moved or removed meanwhile. Of several schedulers one writes; the others find nothing to do.
 */

import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { Database } from '../../store/db/database.ts';
import { readWatchListFile } from '../../watch-list/file.ts';
import { readWatchList } from '../../watch-list/read.ts';
import type { LakeEntry } from '../../watch-list/watch-list.ts';
import { type LakeOutcome, writeLake } from './write-lake.ts';

const lookEveryMs = 5000;
/** Points that take some seconds to write. */
const pointsOfLongWork = 1_000_000;
/** Pause after a failure. */
const retryMs = 60_000;

/** @param options.file of the watch list. */
export function keepLake({
  database,
  file,
  log,
  clock,
  everyMs = lookEveryMs,
}: {
  readonly database: Database;
  readonly file: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Between two looks at the file. */
  readonly everyMs?: number;
}): { close(): Promise<void> } {
  let read: { readonly text: string; readonly lake: LakeEntry | null } | null = null;
  /** When the lake is due, and which one that is. */
  let due: { readonly directory: string; readonly atMs: EpochMs } | null = null;
  /** The failure, or the months that were left out, as it was logged last. */
  let said = '';

  /** An invalid file changes nothing: the check of the watch list reports it. */
  async function currentLake(): Promise<LakeEntry | null> {
    const found = await readWatchListFile(file);
    if (found.kind === 'absent') read = null;
    else if (found.kind === 'text' && found.text !== read?.text) {
      const parsed = readWatchList(found.text, clock.now());
      if (parsed.kind === 'list') read = { text: found.text, lake: parsed.list.lake };
    }
    return read?.lake ?? null;
  }

  async function look(signal: AbortSignal): Promise<void> {
    const lake = await currentLake();
    if (lake === null) return;
    if (due?.directory === lake.directory && clock.now() < due.atMs) return;
    const startedMs = clock.now();
    try {
      const outcome = await writeLake(database, {
        ...lake,
        clock,
        signal,
        showProgress: (what, of) => loggedProgress(what, of),
      });
      due = { directory: lake.directory, atMs: startedMs + lake.everyMs };
      if (outcome !== null) sayOutcome(lake.directory, outcome, clock.now() - startedMs);
    } catch (error) {
      if (signal.aborted) return;
      due = { directory: lake.directory, atMs: clock.now() + Math.min(retryMs, lake.everyMs) };
      const cause = messageOf(error);
      if (said !== cause) log.error({ directory: lake.directory, cause }, 'the lake could not be written');
      said = cause;
    }
  }

  function sayOutcome(directory: string, outcome: LakeOutcome, durationMs: number): void {
    const { refused, ...counts } = outcome;
    if (counts.written + counts.removed > 0) log.info({ directory, ...counts, durationMs }, 'the lake was written');
    const [first] = refused;
    const cause = first === undefined ? '' : `${first.month}: ${first.reason}`;
    if (cause !== '' && said !== cause)
      log.warn({ directory, months: refused.length, cause }, 'the lake lacks months with values that are too long');
    said = cause;
  }

  /** Long work is logged each tenth. */
  function loggedProgress(what: string, of: number | null) {
    let logged = 0;
    return {
      update(done: number) {
        if (of === null || of < pointsOfLongWork || done - logged < of / 10) return;
        logged = done;
        log.info({ done, of }, what === 'lake' ? 'writing the lake' : what);
      },
      stop() {},
    };
  }

  return clock.repeat(everyMs, look);
}
