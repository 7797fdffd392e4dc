/** Faults on request: how often the simulator misbehaves, and in which way. All of them occur in the field. */

import type { MarketRows } from '../service/market-rows.ts';
import { streamKey, uniformAt } from './hash.ts';

/** Rates are shares of all requests, 0 to 1; together at most 1. */
export interface Faults {
  /** 500. */
  readonly errorRate: number;
  /** No answer at all, until the client gives up or the simulator closes. */
  readonly timeoutRate: number;
  /** 200 with half of the JSON text. */
  readonly truncateRate: number;
  /** 200 with an HTML page. */
  readonly htmlRate: number;
  /** 404 with plain text on a valid path. */
  readonly notFoundRate: number;
  /** 200 with an empty `data`, on lists. */
  readonly emptyRate: number;
  /** 429 with plain text, in bursts: the rate at which they begin. */
  readonly rateLimitRate: number;
  /** Requests that a burst refuses. */
  readonly rateLimitBurst: number;
  /** How far ahead `X-Ratelimit-Reset` points in a burst, milliseconds; the header has whole seconds, rounded up. */
  readonly rateLimitResetMs: number;
  /** Waited before every answer, milliseconds. */
  readonly latencyMs: number;
  /** Candles and history answers are cut off after this many rows, silently; null for no cap. */
  readonly maxRows: number | null;
}

export const noFaults: Faults = Object.freeze({
  errorRate: 0,
  timeoutRate: 0,
  truncateRate: 0,
  htmlRate: 0,
  notFoundRate: 0,
  emptyRate: 0,
  rateLimitRate: 0,
  rateLimitBurst: 5,
  rateLimitResetMs: 1000,
  latencyMs: 0,
  maxRows: null,
});

export type FaultKind = 'error' | 'timeout' | 'truncate' | 'html' | 'not_found' | 'empty' | 'rate_limit';

const rates: readonly [FaultKind, keyof Faults][] = [
  ['error', 'errorRate'],
  ['timeout', 'timeoutRate'],
  ['truncate', 'truncateRate'],
  ['html', 'htmlRate'],
  ['not_found', 'notFoundRate'],
  ['empty', 'emptyRate'],
  ['rate_limit', 'rateLimitRate'],
];

/** Deals out faults, one draw a request: the n-th request of a seed always draws the same. */
export class FaultDealer {
  readonly #key: number;
  #faults: Faults;
  #drawn = 0;
  #burstLeft = 0;

  /** @throws RangeError when a rate is not within 0 to 1, all together exceed 1, or another figure is impossible. */
  constructor(seed: string, faults: Faults) {
    this.#key = streamKey(seed, 'faults');
    this.#faults = checked(faults);
  }

  get faults(): Faults {
    return this.#faults;
  }

  /** Replaces the faults from the next request on, and ends a burst. @throws RangeError as the constructor. */
  set(faults: Faults): void {
    this.#faults = checked(faults);
    this.#burstLeft = 0;
  }

  draw(): FaultKind | null {
    const chance = uniformAt(this.#key, this.#drawn++);
    if (this.#burstLeft > 0) {
      this.#burstLeft--;
      return 'rate_limit';
    }
    let reached = 0;
    for (const [kind, rate] of rates) {
      reached += Number(this.#faults[rate]);
      if (chance >= reached) continue;
      if (kind === 'rate_limit') this.#burstLeft = this.#faults.rateLimitBurst - 1;
      return kind;
    }
    return null;
  }
}

/** The same data, with candles and history answers cut off after as many rows as `maxRows` says at the time. */
export function capped(data: MarketRows, maxRows: () => number | null): MarketRows {
  const cut = <Row>(rows: Row[] | null) => rows?.slice(0, maxRows() ?? rows.length) ?? null;
  return {
    ...data,
    candles: async (series, range, nowMs) => cut(await data.candles(series, range, nowMs)),
    assetHistory: async (series, range, nowMs) => cut(await data.assetHistory(series, range, nowMs)),
  };
}

function checked(faults: Faults): Faults {
  let sum = 0;
  for (const [, name] of rates) {
    const rate = Number(faults[name]);
    if (!(rate >= 0 && rate <= 1)) throw new RangeError(`${name} must lie within 0 to 1: ${rate}`);
    sum += rate;
  }
  const whole = { rateLimitBurst: faults.rateLimitBurst, maxRows: faults.maxRows ?? 1 };
  for (const [name, value] of Object.entries(whole)) {
    if (!Number.isInteger(value) || value < 1)
      throw new RangeError(`${name} must be a whole number from 1: ${value}`);
  }
  const durations = { latencyMs: faults.latencyMs, rateLimitResetMs: faults.rateLimitResetMs };
  for (const [name, value] of Object.entries(durations)) {
    if (!(value >= 0 && value < 2 ** 31))
      throw new RangeError(`${name} must be milliseconds from 0: ${value}`);
  }
  if (sum > 1 + Number.EPSILON * rates.length) throw new RangeError(`the fault rates sum to ${sum}, over 1`);
  return Object.freeze({ ...faults });
}
