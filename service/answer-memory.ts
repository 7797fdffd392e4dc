/**
 * Answers that were given a moment ago, and answers under way: who asks the same at the same time shares one statement.
 * Many ask for the same few things, and what is stored changes with a poll or a refresh, minutes apart.
 */

import type { EpochMs } from '../contract/intervals.ts';
import type { PreparedAnswer } from './answer.ts';

export interface MemorySettings {
  /** How old an answer may be, counted from when its statement began; 0: each request has its own. */
  readonly forMs: number;
  /** Of all that are kept. */
  readonly mostBytes: number;
}

interface Entry {
  readonly untilMs: EpochMs;
  readonly answer: Promise<PreparedAnswer>;
  /** 0 as long as it is under way. */
  bytes: number;
}

export class AnswerMemory {
  readonly #settings: MemorySettings;
  // The oldest come first: all are kept for as long.
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(settings: MemorySettings) {
    this.#settings = settings;
  }

  /** @param question tells apart whatever is answered differently. What fails is not remembered. */
  get(question: string, nowMs: EpochMs, prepare: () => Promise<PreparedAnswer>): Promise<PreparedAnswer> {
    if (this.#settings.forMs === 0) return prepare();
    this.#forget(nowMs);
    const known = this.#entries.get(question);
    if (known !== undefined) return known.answer;
    const entry: Entry = { untilMs: nowMs + this.#settings.forMs, answer: prepare(), bytes: 0 };
    this.#entries.set(question, entry);
    entry.answer.then(
      ({ rows }) => {
        if (this.#entries.get(question) !== entry) return;
        entry.bytes = rows.length + question.length;
        this.#bytes += entry.bytes;
        this.#forget(nowMs);
      },
      () => this.#drop(question, entry),
    );
    return entry.answer;
  }

  /** What is too old, and of the rest the oldest while there is too much. */
  #forget(nowMs: EpochMs): void {
    for (const [question, entry] of this.#entries) {
      if (entry.untilMs > nowMs && this.#bytes <= this.#settings.mostBytes) return;
      this.#drop(question, entry);
    }
  }

  #drop(question: string, entry: Entry): void {
    if (this.#entries.get(question) !== entry) return;
    this.#entries.delete(question);
    this.#bytes -= entry.bytes;
  }
}
