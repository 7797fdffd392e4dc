/**
 * Tells the targets of `notify` while a scheduler runs. It looks by itself, beside the queue: the queue and the
 * database may be what is away.
 *
 * Of several schedulers one tells: it holds a place in the database for a minute, and keeps what it has told there, so
 * that a restart neither repeats nor forgets. Nobody can hold it while the database is away. Each scheduler tells that
 * by itself, from memory, as its own machine may be the one without a way to the database.
 *
 * Each target has at most one message under way, and holds up nobody. A message that fails is sent again at a later
 * look, unless the state has changed meanwhile: what is told is always how it is.
 */

import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { type Clock, settledWithin } from '../clock.ts';
import { codeOf, messageOf } from '../errors.ts';
import { type EpochMs, hourMs, minuteMs } from '../model/intervals.ts';
import { databaseAway, queueAway } from '../planning/headline.ts';
import type { Database } from '../store/db/database.ts';
import {
  type DeliveryFailure,
  endTelling,
  readNotified,
  takeTelling,
  writeNotified,
} from '../store/settings/notifications.ts';
import { type FileText, readWatchListFile } from '../watch-list/file.ts';
import { readNotifyEntries } from '../watch-list/source-entries.ts';
import type { NotifyEntry } from '../watch-list/watch-list.ts';
import { type Message, shownText } from './message.ts';
import { type Conditions, dueOf, type Event, heldSince, type Said, type Seen, see, type Told } from './rules.ts';
import { type Sent, send } from './send.ts';
import { type Target, targetOf } from './targets.ts';

export interface TellerOptions {
  readonly clock: Clock;
  readonly database: Database;
  /** The watch list. */
  readonly file: string;
  /** Names of this machine and of the store, for people. */
  readonly host: string;
  readonly store: string;
  /** What holds, also while the database or the queue is away. */
  readonly readConditions: () => Promise<Conditions>;
  readonly events?: ((told: ToldEvent) => void) | undefined;
  readonly log: Logger;
}

/** A message that was delivered, or given up. */
export interface ToldEvent {
  readonly target: string;
  readonly result: 'sent' | 'failed';
}

/** What is remembered of a target. `tidemark notify` shows it. */
export interface Remembered {
  readonly told: Told | null;
  /** What is to be told from `atMs` on. */
  readonly waits: { readonly event: Event; readonly text: string; readonly atMs: EpochMs } | null;
  readonly failure: DeliveryFailure | null;
}

export const nothing: Remembered = { told: null, waits: null, failure: null };

/** One target, of the state that all schedulers share or of what this process alone sees. */
interface Book {
  entry: NotifyEntry;
  target: ReturnType<typeof targetOf>;
  seen: Seen | null;
  kept: Remembered;
  /** As it is in the database. */
  written: Remembered;
  /** Attempts at the message that is due, and when the next may be made. */
  attempts: { readonly of: string; readonly count: number; readonly nextMs: EpochMs };
  sending: Promise<void> | null;
  /** Resolves when what is kept by now is written, or could not be. */
  keeping: Promise<void>;
}

const lookEveryMs = 10_000;
const heldMs = minuteMs;
/** A database or queue that does not answer for so long is away. */
const patienceMs = 30_000;
const firstRetryMs = 5000;
const longestRetryMs = 5 * minuteMs;
/** About half an hour. */
const mostAttempts = 12;

const answers: Conditions = [
  { kind: 'healthy', level: 'ok', text: 'the database answers', source: null, command: null },
];

export function createTeller(options: TellerOptions) {
  const { clock, database, file, host, store, readConditions, events, log } = options;
  const process = randomUUID();
  const shared = new Map<string, Book>();
  const own = new Map<string, Book>();
  const stop = new AbortController();
  let read: { readonly file: FileText; readonly entries: readonly NotifyEntry[] } | null = null;
  /** Targets that the file has no more. */
  const gone = new Set<string>();
  let isTelling = false;
  let isCleared = false;
  let said = '';

  /** A file with a mistake changes nothing. */
  async function currentEntries(): Promise<readonly NotifyEntry[]> {
    const found = await readWatchListFile(file);
    if (read !== null && isDeepStrictEqual(found, read.file)) return read.entries;
    const before = read?.entries ?? [];
    const entries = await readNotifyEntries(file).catch((error: unknown) => {
      log.warn(`whom to tell stays as it was: ${messageOf(error)}`);
      return before;
    });
    read = { file: found, entries };
    for (const books of [shared, own]) adopt(books, entries);
    for (const { entry, target } of own.values())
      if ('problem' in target) log.warn({ target: entry.name }, `a target of notify cannot be told: ${target.problem}`);
    return entries;
  }

  function adopt(books: Map<string, Book>, entries: readonly NotifyEntry[]): void {
    for (const name of books.keys())
      if (!entries.some((one) => one.name === name)) {
        books.delete(name);
        gone.add(name);
      }
    for (const entry of entries) {
      gone.delete(entry.name);
      const book = books.get(entry.name);
      if (book === undefined) books.set(entry.name, newBook(entry));
      else if (!isDeepStrictEqual(entry, book.entry)) {
        Object.assign(book, { entry, target: targetOf(entry), attempts: none, kept: anew(book.kept) });
      }
    }
  }

  /** Takes or keeps the place. Null: the database does not say. */
  async function mayTell(nowMs: EpochMs): Promise<boolean | null> {
    try {
      const taken = takeTelling(database, { process, nowMs, untilMs: nowMs + heldMs });
      const held = await within(taken);
      if (held === 'late') return null;
      if (held && !isTelling && (await within(remember())) === 'late') return null;
      isTelling = held;
      return held;
    } catch (error) {
      sayOnce(messageOf(error), (cause) => log.debug({ cause }, 'who tells is not known'));
      return null;
    }
  }

  /** Whoever told before may have been another process. */
  async function remember(): Promise<void> {
    const known = await readNotified(database.pool);
    for (const name of known.keys()) if (!shared.has(name)) await writeNotified(database, name, null);
    for (const [name, book] of shared) {
      const written = (known.get(name) as Remembered | undefined) ?? nothing;
      Object.assign(book, { kept: anew(written), written, seen: null, attempts: none });
    }
  }

  async function currentConditions(isDatabaseThere: boolean): Promise<Conditions> {
    const found = await within(readConditions());
    const late = `no answer within ${patienceMs / 1000} s`;
    if (found === 'late') return [isDatabaseThere ? queueAway(late) : databaseAway(late)];
    const shown = (one: Said): Said => ({ ...one, text: shownText(one.text) });
    const [headline, ...also] = found;
    return [shown(headline), ...also.map(shown)];
  }

  const within = <Result>(work: Promise<Result>) => settledWithin(clock, patienceMs, work);

  async function look(): Promise<void> {
    try {
      const entries = await currentEntries();
      if (entries.length === 0) return await within(leave()).then(() => {});
      isCleared = false;
      const may = await mayTell(clock.now());
      // Another scheduler reads and tells.
      const found = may === false ? answers : await currentConditions(may === true);
      const isAway = found[0].kind === 'database_away';
      consider(own, isAway ? found : answers);
      if (isAway) for (const book of shared.values()) book.seen = null;
      else if (may === true) {
        consider(shared, found);
        await within(keepAll());
      }
      said = '';
    } catch (error) {
      if (stop.signal.aborted) return;
      sayOnce(messageOf(error), (cause) => log.warn({ cause }, 'nobody can be told; retrying'));
    }
  }

  function consider(books: ReadonlyMap<string, Book>, conditions: Conditions): void {
    const nowMs = clock.now();
    for (const book of books.values()) {
      const { entry, kept, sending } = book;
      book.seen = see(book.seen, conditions, entry, nowMs);
      const { kind, text, source } = book.seen.headline;
      const due = dueOf(kept.told, book.seen, entry);
      book.kept = { ...book.kept, waits: due === null || due.event === 'reminder' ? null : { ...due, text } };
      if (due === null || sending !== null || due.atMs > nowMs) continue;
      const of = `${due.event} ${kind} ${source ?? ''}`;
      if (book.attempts.of !== of) book.attempts = { of, count: 0, nextMs: nowMs };
      if (book.attempts.nextMs <= nowMs) tell(book, book.seen, due.event);
    }
  }

  function tell(book: Book, seen: Seen, event: Event): void {
    const { entry, target } = book;
    const { told } = book.kept;
    // Nobody waits for the end of what was never told.
    if (event === 'recovery' && told?.isKnown !== true) {
      settle(book, null);
      return;
    }
    const nowMs = clock.now();
    const sinceMs = event === 'recovery' ? (told?.sinceMs ?? nowMs) : heldSince(told, seen);
    const before = event === 'recovery' || event === 'change' ? (told?.text ?? null) : null;
    const { headline } = seen;
    const message = { event, headline, sinceMs, atMs: nowMs, before, host, store, link: entry.link };
    const { kind, level, text, source } = headline;
    const next =
      event === 'recovery' ? null : { kind, level, text, source, sinceMs, atMs: nowMs, event, isKnown: true };
    book.sending = deliver(target, message).then(async (sent) => {
      book.sending = null;
      if (stop.signal.aborted && sent.kind === 'failed') return;
      if (sent.kind === 'sent') {
        log.info({ target: entry.name, event, condition: kind }, 'told');
        events?.({ target: entry.name, result: 'sent' });
        endFailure(entry.name);
        settle(book, next);
      } else fail(book, sent, next === null ? null : { ...next, isKnown: told?.isKnown ?? false });
      // At once: a process that ends before the next look would tell it again.
      if (isTelling && shared.get(entry.name) === book) await within(keep(book)).catch(() => {});
    });
  }

  function fail(book: Book, { cause, isTransient, retryAfterMs }: Sent & { kind: 'failed' }, next: Told | null): void {
    const { entry, attempts } = book;
    const nowMs = clock.now();
    const count = attempts.count + 1;
    const isFinal = !isTransient || count >= mostAttempts;
    const sinceMs = book.kept.failure?.sinceMs ?? nowMs;
    book.kept = { ...book.kept, failure: { sinceMs, atMs: nowMs, cause, attempts: count, isFinal } };
    if (count === 1) log.warn({ target: entry.name, cause }, 'a target of notify could not be told');
    const delayMs = Math.max(Math.min(longestRetryMs, firstRetryMs * 2 ** (count - 1)), Math.min(hourMs, retryAfterMs));
    book.attempts = { ...attempts, count, nextMs: nowMs + delayMs };
    if (!isFinal) return;
    log.error({ target: entry.name, cause, attempts: count }, 'a target of notify was not told');
    events?.({ target: entry.name, result: 'failed' });
    settle(book, next);
  }

  /** Also where the message was about the database, which is told from memory. */
  function endFailure(target: string): void {
    for (const book of [shared.get(target), own.get(target)])
      if (book !== undefined) book.kept = { ...book.kept, failure: null };
  }

  function settle(book: Book, told: Told | null): void {
    book.attempts = none;
    book.kept = { ...book.kept, told, waits: null };
  }

  async function deliver(target: Book['target'], message: Message): Promise<Sent> {
    if ('problem' in target) return { kind: 'failed', cause: target.problem, isTransient: false, retryAfterMs: 0 };
    return send(target as Target, message, { clock, signal: stop.signal });
  }

  async function keepAll(): Promise<void> {
    for (const name of gone) {
      await writeNotified(database, name, null);
      gone.delete(name);
    }
    for (const book of shared.values()) await keep(book);
  }

  /**
   * Writes what has changed, one write of a target at a time: an older state must not come last. What fails is written
   * at the next look.
   */
  function keep(book: Book): Promise<void> {
    const kept = book.keeping.then(() => writeKept(book));
    book.keeping = kept.catch(() => {});
    return kept;
  }

  async function writeKept(book: Book): Promise<void> {
    const { kept, written, entry } = book;
    if (isDeepStrictEqual(kept, written)) return;
    await writeNotified(database, entry.name, isDeepStrictEqual(kept, nothing) ? null : kept);
    book.written = kept;
  }

  /** Without targets no place is needed, and nothing is remembered, also of a process before. */
  async function leave(): Promise<void> {
    if (isCleared) return;
    try {
      await remember();
      await endTelling(database, process);
      isTelling = false;
      isCleared = true;
    } catch (error) {
      log.debug({ cause: messageOf(error) }, 'what was told is not forgotten yet');
    }
  }

  function sayOnce(cause: string, say: (cause: string) => void): void {
    if (said !== cause) say(cause);
    said = cause;
  }

  return Object.freeze({
    look,
    /** Resolves when no message is under way, and what was told is kept. */
    async idle(): Promise<void> {
      for (const books of [shared, own])
        await Promise.all([...books.values()].map(({ sending, keeping }) => Promise.all([sending, keeping])));
    },
    /** Ends what is under way, keeps what was told, and leaves the place to another scheduler. */
    async close(): Promise<void> {
      stop.abort();
      for (const books of [shared, own]) await Promise.all([...books.values()].map(({ sending }) => sending));
      if (!isTelling) return;
      try {
        await keepAll();
        await endTelling(database, process);
      } catch (error) {
        log.debug({ cause: messageOf(error), code: codeOf(error) }, 'what was told is not kept');
      }
    },
  });
}

/** What could not be told before may be told to another address, or by another process with another variable. */
function anew({ told }: Remembered): Remembered {
  return { ...nothing, told: told?.isKnown === true ? told : null };
}

const none = { of: '', count: 0, nextMs: 0 };

function newBook(entry: NotifyEntry): Book {
  return {
    ...{ entry, target: targetOf(entry), seen: null, kept: nothing, written: nothing },
    ...{ attempts: none, sending: null, keeping: Promise.resolve() },
  };
}

/** Looks for as long as a scheduler runs. */
export function keepTold(options: TellerOptions): { close(): Promise<void> } {
  const teller = createTeller(options);
  const looks = options.clock.repeat(lookEveryMs, teller.look);
  return {
    async close() {
      await looks.close();
      await teller.close();
    },
  };
}
