/**
 * Applies the watch list's file while the scheduler runs.
 *
 *   absent     There is no file. Tracked series do not change, even if there was a file before.
 *   changed    The text differs from the last check. It counts as complete when the next check reads the same: an
 *              editor may have been writing.
 *   invalid    The file has errors, which are logged once, and recorded for the headline until it is valid or gone. The
 *              last applied state stays until the text changes.
 *   applied    Until the text changes, or for a day: then its patterns are resolved again. What needs a list that was
 *              never read, or is old, is left out until a worker has read it: the scheduler makes no request. It queues
 *              single polls of the lists of SOURCE_URL.
 *
 * Each planning pass checks the file, and one pass runs at a time over all schedulers. The database records what was
 * applied and when: of several schedulers one applies a change, and a restart applies nothing again. The file is read
 * at each check: it is small, and change events of mounted files are unreliable.
 */

import type { Logger } from 'pino';
import { messageOf, TidemarkError } from '../errors.ts';
import { dayMs, type EpochMs, hourMs } from '../model/intervals.ts';
import { listName, type PolledList } from '../model/lists/index.ts';
import { seriesName } from '../model/series.ts';
import { changeKinds } from '../planning/watch-list-changes.ts';
import type { Database } from '../store/db/database.ts';
import { areAnyListed } from '../store/series/sources.ts';
import { isRecent, readListFetches, readListStates, requestListPoll } from '../store/settings/polled-lists.ts';
import { readApplied, writeInvalidList, writeUnlisted, writeWaiting } from '../store/settings/settings.ts';
import { applyWatchList, hashOf } from '../watch-list/apply.ts';
import { type FileText, readWatchListFile } from '../watch-list/file.ts';
import { isNothing, type WatchListContext, type WatchListPlan } from '../watch-list/plan.ts';
import { readWatchList } from '../watch-list/read.ts';
import { problemText, type WatchList } from '../watch-list/watch-list.ts';

interface Applied {
  readonly text: string;
  readonly atMs: EpochMs;
  /** What it lacks: markets of sources, and lists of SOURCE_URL for a reason. */
  readonly unlisted: readonly string[];
  readonly unpolled: readonly PolledList[];
  readonly whyUnpolled: string | null;
}

interface Refused {
  readonly text: string;
  readonly atMs: EpochMs;
  /** The first problem, and how many more there are. */
  readonly why: string;
  readonly more: number;
}

type Sources = NonNullable<WatchListContext['sources']>;

interface ReadFile {
  readonly list: WatchList;
  readonly sources: Sources;
}

const neededLists: readonly PolledList[] = [
  { dataset: 'assets', asset: null },
  { dataset: 'markets', asset: null },
];

/** Interval of resolving the patterns again. */
const resolveEveryMs = dayMs;

/**
 * @returns the check. It never throws: after a failure the tracked series stay, and the next check retries.
 */
export function keepWatchList(options: {
  readonly database: Database;
  readonly file: string;
  /** The sources by the file as it is now. @throws TidemarkError BAD_WATCH_LIST */
  readonly readSources: () => Promise<Sources>;
  /** Workers of SOURCE_URL. */
  readonly countWorkers: () => Promise<number>;
  readonly log: Logger;
}): (nowMs: EpochMs) => Promise<void> {
  const { database, file, readSources, countWorkers, log } = options;
  let seen: FileText = { kind: 'absent' };
  let isSettled = false;
  /** Of the text whose error was logged. */
  let said: string | null = null;
  /** Of the text that is applied. */
  let done: Applied | null = null;
  let isWrong = false;
  /** The file stays invalid until it changes, or for a day: a date in it may have passed. */
  let refused: Refused | null = null;

  async function look(nowMs: EpochMs): Promise<void> {
    const found = await readWatchListFile(file);
    if (!isSame(found, seen)) {
      if (found.kind === 'absent') log.warn({ file }, 'the watch list is gone; tracked series stay');
      seen = found;
      isSettled = false;
      return;
    }
    if (!isSettled) {
      isSettled = true;
      said = null;
      if (found.kind === 'absent') {
        await writeWaiting(database.pool, []);
        await writeInvalidList(database.pool, null, nowMs);
      }
    }
    if (found.kind === 'absent') return;
    if (found.kind === 'unreadable') return refuse({ why: `${file} ${found.why}`, more: 0 }, nowMs);
    const stands = (one: Applied | Refused) => one.text === found.text && nowMs - one.atMs < resolveEveryMs;
    if (refused !== null && stands(refused)) return refuse(refused, nowMs);
    if (done !== null && stands(done) && !(await isMoreKnown(done, nowMs))) return holdsAgain(nowMs);
    const read = await readText(found.text, nowMs);
    if ('problems' in read) {
      const [why = '', ...more] = read.problems;
      refused = { text: found.text, atMs: nowMs, why, more: more.length };
      return refuse(refused, nowMs);
    }
    const hash = hashOf(found.text);
    const before = await readApplied(database.pool);
    if (before?.hash === hash && nowMs - before.atMs < resolveEveryMs) {
      done = { text: found.text, atMs: before.atMs, unlisted: [], unpolled: [], whyUnpolled: null };
      return holdsAgain(nowMs);
    }
    const { list, sources } = read;
    const whyUnpolled = await whyNotPolled(nowMs);
    const given = { nowMs, prune: list.prune, mayDrop: new Set<never>(), hash, file, sources, whyUnpolled };
    const context = { ...given, by: 'watch list' };
    const plan = await applyWatchList(database, list, context);
    tell(plan);
    const { unlisted, unpolled } = plan;
    await writeUnlisted(database, unlisted);
    for (const list of unpolled) await requestListPoll(database, { list, nowMs, isPatient: true });
    done = { text: found.text, atMs: nowMs, unlisted, unpolled, whyUnpolled };
    said = null;
    isWrong = false;
  }

  async function readText(text: string, nowMs: EpochMs): Promise<ReadFile | { readonly problems: string[] }> {
    const read = readWatchList(text, nowMs);
    if (read.kind === 'problems') return { problems: read.problems.map((problem) => problemText(file, problem)) };
    try {
      return { list: read.list, sources: await readSources() };
    } catch (error) {
      if (error instanceof TidemarkError && error.code === 'BAD_WATCH_LIST') return { problems: [error.message] };
      throw error;
    }
  }

  /** Recorded at each pass: another scheduler may have seen a file that was valid meanwhile. */
  async function refuse({ why, more }: Pick<Refused, 'why' | 'more'>, nowMs: EpochMs): Promise<void> {
    isWrong = true;
    await writeInvalidList(database.pool, why, nowMs);
    sayOnce(why, () => log.warn({ more }, `the watch list is invalid; the last applied state stays: ${why}`));
  }

  /** Confirms a fix of the file. */
  async function holdsAgain(nowMs: EpochMs): Promise<void> {
    await writeInvalidList(database.pool, null, nowMs);
    if (isWrong) log.info({ file }, 'the watch list is valid again, and unchanged');
    isWrong = false;
  }

  /** Whether a list that it lacks has been read, or why it cannot be is another reason. */
  async function isMoreKnown({ unlisted, unpolled, whyUnpolled }: Applied, nowMs: EpochMs): Promise<boolean> {
    if (await areAnyListed(database, unlisted)) return true;
    if (unpolled.length === 0) return false;
    if (whyUnpolled !== (await whyNotPolled(nowMs))) return true;
    const states = await readListStates(database.pool);
    const stateOf = (list: PolledList) => states.find((one) => listName(one.list) === listName(list));
    if (unpolled.some((list) => isRecent(stateOf(list), nowMs))) return true;
    for (const list of unpolled) await requestListPoll(database, { list, nowMs, isPatient: true });
    return false;
  }

  /** Why the lists of SOURCE_URL are not polled; null: it is not known. */
  async function whyNotPolled(nowMs: EpochMs): Promise<string | null> {
    if ((await countWorkers()) === 0) return 'no worker has SOURCE_URL';
    const { failedInARow, message } = await readListFetches(database, nowMs - hourMs, neededLists);
    return failedInARow === 0 ? null : message;
  }

  function tell(plan: WatchListPlan): void {
    for (const note of [...plan.notes, ...plan.waiting]) log.info(`the watch list: ${problemText(file, note)}`);
    for (const { dataset, after, dropsBeforeMs } of plan.heldBack) {
      const before = dropsBeforeMs === null ? undefined : new Date(dropsBeforeMs);
      log.warn(
        { dataset, age: after, before },
        'a retention of the watch list would drop stored points; run `tidemark apply --confirm`',
      );
    }
    const left = plan.left.series.length + plan.left.lists.length;
    const counts = changeKinds.map((kind) => [kind, plan.series.filter((change) => change.kind === kind).length]);
    if (isNothing(plan)) log.info({ file, left }, 'the watch list is applied: nothing changed');
    else
      log.info({ file, ...Object.fromEntries(counts), lists: plan.lists.length, left }, 'the watch list was applied');
    for (const { dataset, age, cutMs, series } of plan.cut) {
      log.info(
        { dataset, age, before: new Date(cutMs), series: series.length },
        'the requested range begins before the retention; tracked from there on',
      );
    }
    for (const key of plan.notKept)
      log.info(
        { series: seriesName(key) },
        'nothing is kept of the requested range: it ends before the retention, or the market expired before',
      );
  }

  function sayOnce(what: string, say: () => void): void {
    if (said === what) return;
    said = what;
    say();
  }

  return (nowMs) =>
    look(nowMs).catch((error: unknown) => {
      const cause = messageOf(error);
      sayOnce(cause, () => log.warn({ file, cause }, 'the watch list could not be applied; retrying'));
    });
}

function isSame(a: FileText, b: FileText): boolean {
  if (a.kind === 'text' && b.kind === 'text') return a.text === b.text;
  if (a.kind === 'unreadable' && b.kind === 'unreadable') return a.why === b.why;
  return a.kind === b.kind;
}
