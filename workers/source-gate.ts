/**
 * Lets no request reach a source that has refused them all, and after each pause one alone, whatever the number of
 * windows, lanes, workers and processes. The queue pauses too, so that no job is started only to be put back.
 */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { formatTime } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import {
  afterAcceptance,
  afterNoAnswer,
  afterRefusal,
  afterSilence,
  beginAlone,
  type Entry,
  entryOf,
  mayBeMended,
  type SourceRefusal,
} from '../planning/source-refusal.ts';
import type { RequestQueue } from '../queue/requests.ts';
import { concernsRequest, refusesAll, SourceError } from '../sources/source-error.ts';
import type { Database } from '../store/db/database.ts';
import { changeRefusal, readRefusal } from '../store/settings/source-refusal.ts';

export type SourceGate = ReturnType<typeof createSourceGate>;

const refusalText: Readonly<Record<string, string>> & { readonly other: string } = Object.freeze({
  notice: 'the source answers with a service message; the queue pauses',
  unauthorized: 'the source refuses the key, or what its plan includes; the queue pauses',
  address_refused: 'the source refuses this address; the queue pauses',
  country_refused:
    'the source does not serve the country of this address: use another source, or its public address; the ' +
    'queue pauses',
  other: 'the source refuses requests; the queue pauses',
});

/** Within this time after the database got a refusal, what was read may be older. Then a user may end it there. */
const settledMs = 2000;

/** How long a source that has refused nothing is not asked for again. Shorter than every pause. */
const openKnownMs = 900;

export function createSourceGate(options: {
  readonly database: Database;
  readonly source: string;
  readonly requests: Pick<RequestQueue, 'pauseForMs' | 'endPause'>;
  readonly log: Logger;
  readonly clock: Clock;
  /** Between two requests of this process; absent: none. */
  readonly spacingMs?: number;
}) {
  const { database, source, requests, log, clock, spacingMs = 0 } = options;
  const change = (how: (before: SourceRefusal) => SourceRefusal | null) =>
    changeRefusal(database, source, (before) => (before === null ? null : how(before)));
  let openUntilMs = Number.NEGATIVE_INFINITY;
  /** Of this process, before the others know. */
  let closedUntilMs: EpochMs = Number.NEGATIVE_INFINITY;

  /**
   * The limiter of a large budget starts several requests together. Sent one after the other, few follow one that is
   * refused.
   */
  let nextTurnMs = Number.NEGATIVE_INFINITY;
  async function takeTurn(): Promise<void> {
    const nowMs = clock.monotonicMs();
    const turnMs = Math.max(nowMs, nextTurnMs);
    nextTurnMs = turnMs + spacingMs;
    if (turnMs > nowMs) await clock.sleep(turnMs - nowMs);
  }

  async function enter(): Promise<Entry> {
    await takeTurn();
    const nowMs = clock.now();
    if (nowMs < closedUntilMs) return { kind: 'wait', forMs: closedUntilMs - nowMs };
    if (clock.monotonicMs() < openUntilMs) return { kind: 'open' };
    const seen = entryOf(await readRefusal(database, source), nowMs);
    if (seen.kind === 'open') openUntilMs = clock.monotonicMs() + openKnownMs;
    if (seen.kind !== 'alone') return seen;
    let entry: Entry = seen;
    await change((before) => {
      entry = entryOf(before, nowMs);
      return entry.kind === 'alone' ? beginAlone(before, nowMs) : null;
    });
    return entry;
  }

  async function accepted(): Promise<void> {
    await change((before) => afterAcceptance(before, clock.now()));
    log.info('the source accepts requests again');
  }

  /** @param isStopped whether it was stopped, or its answer could not be stored; else the source gave none. */
  async function unanswered(isStopped: boolean): Promise<void> {
    const after = isStopped ? afterNoAnswer : afterSilence;
    await change((before) => (before.aloneUntilMs === null ? null : after(before, clock.now())));
  }

  /** An unreachable queue cannot be paused; it starts no job, and logs that itself. */
  const pause = (ms: number) => requests.pauseForMs(ms).catch(() => {});

  async function closeUntil(untilMs: EpochMs): Promise<void> {
    if (untilMs <= closedUntilMs) return;
    closedUntilMs = untilMs;
    await pause(untilMs - clock.now());
  }

  return Object.freeze({
    /** Asks for the source anew where the cause of the refusal may have been removed, as before a new process. */
    async retry(): Promise<void> {
      const refusal = await readRefusal(database, source);
      if (refusal === null || refusal.acceptedAtMs !== null || !mayBeMended(refusal)) return;
      await change((before) => (mayBeMended(before) ? { ...before, untilMs: clock.now() } : null));
      await requests.endPause().catch(() => {});
    },

    /** Asks whether a request may be sent. After `wait` the queue is paused for as long. */
    async enter(): Promise<Entry> {
      const entry = await enter();
      if (entry.kind === 'wait') await pause(entry.forMs);
      return entry;
    },

    /** After a refusal of more than a request or a series. @param startedMs when its request began. */
    async refused(error: Pick<SourceError, 'kind' | 'message' | 'retryAtMs'>, startedMs: EpochMs): Promise<void> {
      const nowMs = clock.now();
      const { kind, message, retryAtMs } = error;
      const failure = { kind, message, startedMs, nowMs, retryAtMs };
      openUntilMs = Number.NEGATIVE_INFINITY;
      await closeUntil(afterRefusal(null, failure).untilMs);
      let isFirst = false;
      const after = await changeRefusal(database, source, (before) => {
        const next = afterRefusal(before, failure);
        // Others were under way when the first one was refused.
        isFirst = (before === null || before.acceptedAtMs !== null) && next.inARow === 1;
        return next;
      });
      const untilMs = after?.untilMs ?? nowMs;
      await closeUntil(untilMs);
      closedUntilMs = Math.min(closedUntilMs, clock.now() + settledMs);
      if (isFirst) log.warn({ cause: message, until: formatTime(untilMs) }, refusalText[kind] ?? refusalText.other);
    },

    /** Sends a request that goes alone. Any answer to it opens the source for the others. @throws as `send`. */
    async alone<Answer>(send: () => Promise<Answer>): Promise<Answer> {
      try {
        const answer = await send();
        await accepted();
        return answer;
      } catch (error) {
        if (error instanceof SourceError && concernsRequest(error)) await accepted();
        else if (!(error instanceof SourceError)) await unanswered(true);
        else if (!refusesAll(error.kind)) await unanswered(false);
        throw error;
      }
    },
  });
}
