/**
 * Applies the watch list's file while the scheduler runs.
 *
 *   absent     There is no file. Tracked series do not change, even if there was a file before.
 *   changed    The text differs from the last check. It counts as complete when the next check reads the same: an
 *              editor may have been writing.
 *   invalid    The file has errors, which are logged once. The last applied state stays until the text changes.
 *   waiting    Its patterns need lists without a recent poll. Single polls of these are queued.
 *   applied    Until the text changes, or for a day: then its patterns are resolved again. What needs the markets of a
 *              source that was never listed is left out until a worker has listed them: the scheduler makes no request.
 *
 * Each planning pass checks the file, and one pass runs at a time over all schedulers. The database records what was
 * applied and when: of several schedulers one applies a change, and a restart applies nothing again. The file is read
 * at each check: it is small, and change events of mounted files are unreliable.
 */

import type { Logger } from 'pino';
import { messageOf, TidemarkError } from '../errors.ts';
import { dayMs, type EpochMs } from '../model/intervals.ts';
import { listName } from '../model/lists/index.ts';
import { seriesName } from '../model/series.ts';
import { changeKinds } from '../planning/watch-list-changes.ts';
import type { Database } from '../store/db/database.ts';
import { areAnyListed } from '../store/series/sources.ts';
import { requestListPoll } from '../store/settings/polled-lists.ts';
import { readApplied, writeUnlisted } from '../store/settings/settings.ts';
import { applyWatchList, hashOf } from '../watch-list/apply.ts';
import { type FileText, readWatchListFile } from '../watch-list/file.ts';
import { isNothing, type WatchListContext, type WatchListPlan } from '../watch-list/plan.ts';
import { readWatchList } from '../watch-list/read.ts';
import { problemText, type WatchList } from '../watch-list/watch-list.ts';

interface Applied {
  readonly text: string;
  readonly atMs: EpochMs;
  /** Sources whose markets it lacks. */
  readonly unlisted: readonly string[];
}

type Sources = NonNullable<WatchListContext['sources']>;

interface ReadFile {
  readonly list: WatchList;
  readonly sources: Sources;
}

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
  readonly log: Logger;
}): (nowMs: EpochMs) => Promise<void> {
  const { database, file, readSources, log } = options;
  let seen: FileText = { kind: 'absent' };
  let isSettled = false;
  /** Of the text whose error was logged. */
  let said: string | null = null;
  /** Of the text that is applied. */
  let done: Applied | null = null;
  let isWrong = false;
  /** The file stays invalid until it changes, or for a day: a date in it may have passed. */
  let refused: { readonly text: string; readonly atMs: EpochMs } | null = null;

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
    }
    if (found.kind === 'absent') return;
    if (found.kind === 'unreadable') return refuse(`${file} ${found.why}`, 0);
    const stands = (one: typeof refused) => one?.text === found.text && nowMs - one.atMs < resolveEveryMs;
    if (stands(refused)) return;
    if (stands(done) && !(await areAnyListed(database, done?.unlisted ?? []))) return holdsAgain();
    const read = await readText(found.text, nowMs);
    if ('problems' in read) {
      refused = { text: found.text, atMs: nowMs };
      const [first] = read.problems;
      if (first !== undefined) refuse(first, read.problems.length - 1);
      return;
    }
    const hash = hashOf(found.text);
    const before = await readApplied(database.pool);
    if (before?.hash === hash && nowMs - before.atMs < resolveEveryMs) {
      done = { text: found.text, atMs: before.atMs, unlisted: [] };
      return holdsAgain();
    }
    const plan = await apply(read, hash, nowMs);
    if (plan === null) return;
    done = { text: found.text, atMs: nowMs, unlisted: plan.unlisted };
    await writeUnlisted(database, plan.unlisted);
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

  function refuse(why: string, more: number): void {
    isWrong = true;
    sayOnce(why, () => log.warn({ more }, `the watch list is invalid; the last applied state stays: ${why}`));
  }

  /** Confirms a fix of the file. */
  function holdsAgain(): void {
    if (isWrong) log.info({ file }, 'the watch list is valid again, and unchanged');
    isWrong = false;
  }

  /** @returns null: its patterns await a poll. */
  async function apply({ list, sources }: ReadFile, hash: string, nowMs: EpochMs): Promise<WatchListPlan | null> {
    const context = { nowMs, prune: list.prune, mayDrop: new Set<never>(), hash, sources };
    const plan = await applyWatchList(database, list, context);
    if (plan.kind === 'lists') {
      const lists = plan.lists.map(listName);
      sayOnce(lists.join(), () =>
        log.info({ file, lists }, 'the watch list waits for a poll of the lists that its patterns need'),
      );
      for (const list of plan.lists) await requestListPoll(database, { list, nowMs, isPatient: true });
      return null;
    }
    tell(plan);
    return plan;
  }

  function tell(plan: WatchListPlan): void {
    for (const note of plan.notes) log.info(`the watch list: ${problemText(file, note)}`);
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
