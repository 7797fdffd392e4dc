/**
 * Keeps what is tracked as the watch list's file says.
 *
 *   absent     There is no file. Nothing that is tracked changes, also when it was there before.
 *   settling   It reads otherwise than at the last look. Only when the next look finds the same is it taken for whole:
 *              an editor may have been in the middle of writing.
 *   refused    It is wrong, and said so once. What was applied last stays, until it reads otherwise.
 *   waiting    Its patterns need lists that were not polled of late: polls of them are begun, and asked for like any other.
 *   applied    Until it reads otherwise, or a day has passed: then its patterns are resolved anew.
 *
 * Looked at in every planning pass, of which one runs at a time over all schedulers; and what was applied, and when, is in
 * the database. So of several schedulers one applies a change, and a restart applies nothing anew. The file is read each
 * time: it is small, and a mounted one tells of its changes by no event that could be relied on.
 */

import type { Logger } from 'pino';
import type { StorageSettings } from '../config.ts';
import { dayMs, type EpochMs } from '../contract/intervals.ts';
import { listName } from '../contract/lists.ts';
import { seriesName } from '../contract/series.ts';
import type { Database } from '../store/database.ts';
import { askForList } from '../store/watch-list/ask.ts';
import { applied } from '../store/watch-list/settings.ts';
import { applyWatchList, hashOf } from '../watch/apply-watch-list.ts';
import { isNothing, type WatchPlan } from '../watch/plan-watch-list.ts';
import { problemText } from '../watch/problem.ts';
import { type FileText, readWatchFile } from '../watch/read-file.ts';
import { readWatchList } from '../watch/read-watch-list.ts';
import type { WatchList } from '../watch/watch-list.ts';

/** How long what patterns were resolved to stands. */
const resolveEveryMs = dayMs;

export interface WatchKeeper {
  /** Applies what has changed. Never throws: what is tracked stays as it is then, and the next look tries again. */
  look(nowMs: EpochMs): Promise<void>;
}

export function keepWatchList(options: {
  readonly database: Database;
  readonly file: string;
  readonly chunkDays: StorageSettings['chunkDays'];
  readonly log: Logger;
}): WatchKeeper {
  const { database, file, chunkDays, log } = options;
  let seen: FileText = { kind: 'absent' };
  let isSettled = false;
  /** Of the text that was refused, or of the trouble that was said. */
  let said: string | null = null;
  /** What is known to be applied, of this text. */
  let done: { readonly text: string; readonly atMs: EpochMs } | null = null;
  let isWrong = false;
  /** As wrong as it was until it reads otherwise; a date in it may have passed within a day. */
  let refused: { readonly text: string; readonly atMs: EpochMs } | null = null;

  async function look(nowMs: EpochMs): Promise<void> {
    const found = await readWatchFile(file);
    if (!isSame(found, seen)) {
      if (found.kind === 'absent') log.warn({ file }, 'the watch list is gone; what is tracked stays');
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
    const stands = (one: typeof done) => one?.text === found.text && nowMs - one.atMs < resolveEveryMs;
    if (stands(refused)) return;
    if (stands(done)) return holdsAgain();
    const read = readWatchList(found.text, nowMs);
    if (read.kind === 'problems') {
      refused = { text: found.text, atMs: nowMs };
      const [first] = read.problems;
      if (first !== undefined) refuse(problemText(file, first), read.problems.length - 1);
      return;
    }
    const hash = hashOf(found.text);
    const before = await applied(database.pool);
    if (before?.hash === hash && nowMs - before.atMs < resolveEveryMs) {
      done = { text: found.text, atMs: before.atMs };
      return holdsAgain();
    }
    if (!(await apply(read.list, hash, nowMs))) return;
    done = { text: found.text, atMs: nowMs };
    said = null;
    isWrong = false;
  }

  function refuse(why: string, more: number): void {
    isWrong = true;
    sayOnce(why, () =>
      log.warn({ more }, `the watch list is wrong, and what was applied last stays: ${why}`),
    );
  }

  /** Whoever mended it wants to hear that it was read. */
  function holdsAgain(): void {
    if (isWrong) log.info({ file }, 'the watch list reads again as it was applied');
    isWrong = false;
  }

  /** @returns false: its patterns await a poll. */
  async function apply(list: WatchList, hash: string, nowMs: EpochMs): Promise<boolean> {
    const context = { nowMs, chunkDays, prune: list.prune, mayDrop: new Set<never>(), hash };
    const plan = await applyWatchList(database, list, context);
    if (plan.kind === 'lists') {
      const lists = plan.lists.map(listName);
      sayOnce(lists.join(), () =>
        log.info({ file, lists }, 'the watch list awaits a poll of what it chooses from'),
      );
      for (const list of plan.lists) await askForList(database, { list, nowMs, patiently: true });
      return false;
    }
    tell(plan);
    return true;
  }

  function tell(plan: WatchPlan): void {
    for (const note of plan.notes) log.info(`the watch list: ${problemText(file, note)}`);
    for (const { dataset, after, dropsBeforeMs } of plan.heldBack) {
      const before = dropsBeforeMs === null ? undefined : new Date(dropsBeforeMs);
      log.warn(
        { dataset, age: after, before },
        'a retention of the watch list would drop what is stored, and awaits `tidemark apply --confirm`',
      );
    }
    const names = (kind: WatchPlan['series'][number]['kind']) =>
      plan.series.filter((change) => change.kind === kind).length;
    const counts = {
      ...{ added: names('added'), widened: names('widened'), narrowed: names('narrowed') },
      ...{ moved: names('moved'), stopped: names('stopped'), lists: plan.lists.length },
      left: plan.left.series.length + plan.left.lists.length,
    };
    if (isNothing(plan)) log.info({ file, left: counts.left }, 'the watch list holds: nothing changed');
    else log.info({ file, ...counts }, 'the watch list was applied');
    for (const { dataset, age, cutMs, series } of plan.cut) {
      log.info(
        { dataset, age, before: new Date(cutMs), series: series.length },
        'wanted from before what is kept, so tracked from there on',
      );
    }
    for (const key of plan.notKept) log.info({ series: seriesName(key) }, 'wanted only before what is kept');
  }

  function sayOnce(what: string, say: () => void): void {
    if (said === what) return;
    said = what;
    say();
  }

  return Object.freeze({
    async look(nowMs) {
      try {
        await look(nowMs);
      } catch (error) {
        const cause = error instanceof Error ? error.message : String(error);
        sayOnce(cause, () =>
          log.warn({ file, cause }, 'the watch list could not be applied; it is tried again'),
        );
      }
    },
  } satisfies WatchKeeper);
}

function isSame(a: FileText, b: FileText): boolean {
  if (a.kind === 'text' && b.kind === 'text') return a.text === b.text;
  if (a.kind === 'unreadable' && b.kind === 'unreadable') return a.why === b.why;
  return a.kind === b.kind;
}
