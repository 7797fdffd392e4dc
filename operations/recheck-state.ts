/**
 * The state of a run of `verify` or `repair`: which windows wait for their answers, and what is settled. No I/O.
 *
 *   planned    A covered window that was not requested yet.
 *   waiting    Its request, or one for a part of it, is in the queue or at a worker.
 *   rest       The part that a truncated answer did not reach, to be requested with its adjacent periods; if those do
 *              not bound it either, alone. Also a window that answered empty although points are stored, a few times.
 *   settled    Every part has an answer, or will have none: its source refuses it.
 *
 * A waiting window that is not queued any more and has no answer was lost with the queue, and is queued again.
 */

import { type Range, subtract } from '../model/ranges.ts';
import type { Limit } from '../model/sources.ts';
import { asksAlone, type Command, hasWitnesses } from '../model/window.ts';
import { windowCost } from '../planning/budget.ts';
import type { CoveredWindow } from '../planning/sample.ts';
import { type CommandResult, noResult } from '../store/commit/command-results.ts';
import { countDiffering } from '../store/commit/differences.ts';
import { emptiedKind, unboundedKind } from '../store/commit/verification.ts';
import { creditsText } from './source-health.ts';

/** The result of a window, summed over its answers. */
export interface RecheckedWindow extends Omit<CommandResult, 'reached' | 'seriesId' | 'startMs' | 'endMs'> {
  readonly window: CoveredWindow;
  /** The settled ranges; `message` explains a missing part. */
  readonly reached: readonly Range[];
}

export interface RecheckRules {
  readonly windows: Iterable<CoveredWindow>;
  /** The request for a window, or for a part of it. */
  readonly requestFor: (window: CoveredWindow, part: Range) => Command;
  readonly sourceOf: (series: { readonly seriesId: number }) => string;
  readonly onSettled: (settled: RecheckedWindow) => void;
}

/** The kind of a window whose source this process cannot ask. */
export const unusableKind = 'unusable';

/** Why a source gives no answer. */
export type Refusal = Pick<CommandResult, 'kind' | 'message'>;

/** The credits of a source: `used` includes what waiting windows are expected to cost. */
export interface Account {
  used: number;
  readonly name: string;
  readonly limit: Limit;
}

type Open = { -readonly [Key in keyof RecheckedWindow]: RecheckedWindow[Key] } & {
  reached: Range[];
  /** Parts without an answer. */
  parts: number;
};

interface Part {
  readonly request: Command;
  readonly open: Open;
  /** Number of empty answers although points are stored. */
  readonly emptied: number;
}

/** If 30 % of a source's answers are falsely empty, one window in 400 remains unanswered. */
const maxEmptied = 4;

const summed = ['points', 'missingHere', 'missingThere', 'changed', 'rewritten', 'fresh', 'revised'] as const;

export class RecheckState {
  readonly #rules: RecheckRules;
  readonly #plan: Iterator<CoveredWindow>;
  readonly #waiting = new Map<string, Part>();
  readonly #rests: Part[] = [];
  /** Series that their source does not know. */
  readonly #unknown = new Map<number, Refusal>();
  readonly #refusals = new Map<string, Refusal>();
  readonly #differing: RecheckedWindow[] = [];
  readonly #unanswered: RecheckedWindow[] = [];
  #isPlanned = false;
  #settled = 0;

  constructor(rules: RecheckRules) {
    this.#rules = rules;
    this.#plan = rules.windows[Symbol.iterator]();
  }

  get settled(): number {
    return this.#settled;
  }

  get isEnded(): boolean {
    return this.#isPlanned && this.#waiting.size === 0 && this.#rests.length === 0;
  }

  /** Windows that differ from the source, by series and time. */
  get differing(): readonly RecheckedWindow[] {
    return this.#differing.toSorted(
      (a, b) => a.window.seriesId - b.window.seriesId || a.window.startMs - b.window.startMs,
    );
  }

  get unanswered(): readonly RecheckedWindow[] {
    return this.#unanswered;
  }

  isRefusing(source: string): boolean {
    return this.#refusals.has(source);
  }

  /** What the waiting windows of a source are expected to cost. */
  expectedCost(source: string, limit: Limit): number {
    return this.#waitingFor(source).reduce((sum, { request }) => sum + windowCost(limit, request), 0);
  }

  /** Waiting windows that are not queued. @param queued keys of windows. */
  lost(queued: ReadonlySet<string>): Command[] {
    return [...this.#waiting].filter(([key]) => !queued.has(key)).map(([, { request }]) => request);
  }

  /** The next requests that the credits allow: they wait from now on. */
  take(room: number, accounts: ReadonlyMap<string, Account>): Command[] {
    const taken: Command[] = [];
    while (taken.length < room) {
      const part = this.#next();
      if (part === null) break;
      if (!this.#pays(part, accounts.get(this.#rules.sourceOf(part.request)))) continue;
      this.#waiting.set(windowKey(part.request), part);
      taken.push(part.request);
    }
    return taken;
  }

  /** Ends every window of a source, those that wait for an answer too. */
  refuse(source: string, refusal: Refusal): void {
    this.#refusals.set(source, refusal);
    for (const part of this.#waitingFor(source)) this.#leave(part, refusal);
  }

  receive(answer: CommandResult): void {
    const part = this.#waiting.get(windowKey(answer));
    if (part === undefined) return;
    this.#waiting.delete(windowKey(answer));
    this.#decide(part, answer);
  }

  #decide(part: Part, answer: CommandResult): void {
    const { request, open, emptied } = part;
    for (const count of summed) open[count] += answer[count];
    if (answer.kind === emptiedKind && emptied < maxEmptied) {
      this.#rests.push({ request, open, emptied: emptied + 1 });
      return;
    }
    if (answer.reached === null && answer.kind === unboundedKind && hasWitnesses(request)) {
      this.#rests.push({ request: { ...request, ...asksAlone(request) }, open, emptied: 0 });
      return;
    }
    if (answer.reached === null) {
      ({ kind: open.kind, message: open.message } = answer);
      if (answer.kind === 'not_found') this.#unknown.set(request.seriesId, answer);
    } else {
      open.reached.push(answer.reached);
      open.kind = answer.kind ?? open.kind;
      open.message = answer.message ?? open.message;
      for (const range of subtract([request], [answer.reached])) {
        this.#rests.push({ request: this.#rules.requestFor(open.window, range), open, emptied: 0 });
        open.parts += 1;
      }
    }
    open.parts -= 1;
    if (open.parts === 0) this.#settle(open);
  }

  #next(): Part | null {
    for (;;) {
      const rest = this.#rests.shift();
      if (rest !== undefined) {
        const refusal = this.#refusals.get(this.#rules.sourceOf(rest.request));
        if (refusal === undefined) return rest;
        this.#leave(rest, refusal);
        continue;
      }
      const next = this.#plan.next();
      if (next.done) {
        this.#isPlanned = true;
        return null;
      }
      const window = next.value;
      const open: Open = { ...noResult, window, reached: [], parts: 1 };
      const refusal = this.#unknown.get(window.seriesId) ?? this.#refusals.get(this.#rules.sourceOf(window));
      if (refusal === undefined) return { request: this.#rules.requestFor(window, window), open, emptied: 0 };
      this.#settle({ ...open, kind: refusal.kind, message: refusal.message });
    }
  }

  /** Whether the credits suffice. If not, the source refuses this and all further windows. */
  #pays(part: Part, account: Account | undefined): boolean {
    if (account === undefined) return true;
    const { name, limit, used } = account;
    const cost = windowCost(limit, part.request);
    if (used + cost <= limit.amount) {
      account.used += cost;
      return true;
    }
    const refusal = { kind: 'rate_limited', message: creditsText(name, limit, used, cost) };
    this.#refusals.set(this.#rules.sourceOf(part.request), refusal);
    this.#leave(part, refusal);
    return false;
  }

  /** Ends a part without an answer. */
  #leave(part: Part, refusal: Refusal): void {
    this.#waiting.delete(windowKey(part.request));
    this.#decide(part, { ...noResult, ...part.request, ...refusal });
  }

  #settle(open: Open): void {
    this.#settled += 1;
    if (countDiffering(open) > 0) this.#differing.push(open);
    if (open.message !== null) this.#unanswered.push(open);
    this.#rules.onSettled(open);
  }

  #waitingFor(source: string): Part[] {
    return [...this.#waiting.values()].filter(({ request }) => this.#rules.sourceOf(request) === source);
  }
}

export function windowKey(window: Range & { readonly seriesId: number }): string {
  return `${window.seriesId} ${window.startMs} ${window.endMs}`;
}
