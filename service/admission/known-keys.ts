/** Which keys are issued, remembered for a moment: a client sends the same one with every request. */

import type { EpochMs } from '../../contract/intervals.ts';

/** How long after it is revoked a key may still be taken. */
export const rememberedMs = 2000;
/** Keys that a guesser makes up are remembered too, and must not fill the memory: the oldest are forgotten first. */
const mostRemembered = 10_000;

export class KnownKeys {
  readonly #look: (key: string) => Promise<number | null>;
  readonly #now: () => EpochMs;
  readonly #remembered = new Map<
    string,
    { readonly id: Promise<number | null>; readonly untilMs: EpochMs }
  >();

  /** @param look finds the id of an issued key; null: there is none. */
  constructor(look: (key: string) => Promise<number | null>, now: () => EpochMs) {
    this.#look = look;
    this.#now = now;
  }

  /** The id of an issued key; null for any other text. */
  idOf(key: string): Promise<number | null> {
    const nowMs = this.#now();
    const known = this.#remembered.get(key);
    if (known !== undefined && known.untilMs > nowMs) return known.id;
    this.#forget(nowMs);
    const id = this.#look(key);
    this.#remembered.delete(key);
    this.#remembered.set(key, { id, untilMs: nowMs + rememberedMs });
    id.catch(() => this.#remembered.delete(key));
    return id;
  }

  #forget(nowMs: EpochMs): void {
    for (const [key, { untilMs }] of this.#remembered) {
      if (untilMs > nowMs && this.#remembered.size < mostRemembered) return;
      this.#remembered.delete(key);
    }
  }
}
