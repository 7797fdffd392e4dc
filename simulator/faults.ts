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
  /** The connection breaks in the middle of the body. */
  readonly resetRate: number;
  /** 200 with what was true, and stamped, `staleMs` ago. */
  readonly staleRate: number;
  /** 200 with a body that comes a byte at a time and never ends. */
  readonly dripRate: number;
  /** 200 with a body of `hugeBytes`, in JSON that is correct and holds no row. */
  readonly hugeRate: number;
  /** Requests that a burst of 429 refuses. */
  readonly rateLimitBurst: number;
  /** How far ahead a burst's header points, milliseconds; headers have whole seconds, rounded up. */
  readonly rateLimitResetMs: number;
  /** How a 429 says when to come back. */
  readonly rateLimitHeader: RateLimitHeader;
  readonly staleMs: number;
  readonly hugeBytes: number;
  /** Waited before every answer, milliseconds. */
  readonly latencyMs: number;
  /** How far the service's clock is ahead, milliseconds; negative: behind. Its data and its headers go by it. */
  readonly clockOffsetMs: number;
  /**
   * Share of candles and history points that are revised `reviseAfterMs` after their period has ended: until then
   * volume or price are a hundredth lower than the final one.
   */
  readonly reviseRate: number;
  readonly reviseAfterMs: number;
  /** Candles and history answers are cut off after this many rows, silently; null for no cap. */
  readonly maxRows: number | null;
  /** Which rows a cap leaves. */
  readonly capKeeps: 'oldest' | 'newest';
}

export const rateLimitHeaders = ['reset', 'seconds', 'date', 'none'] as const;

/** `X-Ratelimit-Reset` in epoch seconds, as seen in the field; `Retry-After` in seconds or as a date; nothing. */
export type RateLimitHeader = (typeof rateLimitHeaders)[number];

export const noFaults: Faults = Object.freeze({
  errorRate: 0,
  timeoutRate: 0,
  truncateRate: 0,
  htmlRate: 0,
  notFoundRate: 0,
  emptyRate: 0,
  rateLimitRate: 0,
  resetRate: 0,
  staleRate: 0,
  dripRate: 0,
  hugeRate: 0,
  rateLimitBurst: 5,
  rateLimitResetMs: 1000,
  rateLimitHeader: 'reset',
  staleMs: 600_000,
  hugeBytes: 200_000_000,
  latencyMs: 0,
  clockOffsetMs: 0,
  reviseRate: 0,
  reviseAfterMs: 3_600_000,
  maxRows: null,
  capKeeps: 'oldest',
});

const rates = [
  ['error', 'errorRate'],
  ['timeout', 'timeoutRate'],
  ['truncate', 'truncateRate'],
  ['html', 'htmlRate'],
  ['not_found', 'notFoundRate'],
  ['empty', 'emptyRate'],
  ['rate_limit', 'rateLimitRate'],
  ['reset', 'resetRate'],
  ['stale', 'staleRate'],
  ['drip', 'dripRate'],
  ['huge', 'hugeRate'],
] as const;

export type FaultKind = (typeof rates)[number][0];

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
      reached += this.#faults[rate];
      if (chance >= reached) continue;
      if (kind === 'rate_limit') this.#burstLeft = this.#faults.rateLimitBurst - 1;
      return kind;
    }
    return null;
  }
}

/** The same data, with candles and history answers cut off as the faults of the time say. */
export function capped(data: MarketRows, faults: () => Pick<Faults, 'maxRows' | 'capKeeps'>): MarketRows {
  function cut<Row>(rows: Row[] | null): Row[] | null {
    const { maxRows, capKeeps } = faults();
    if (rows === null || maxRows === null) return rows;
    return capKeeps === 'oldest' ? rows.slice(0, maxRows) : rows.slice(-maxRows);
  }
  return {
    ...data,
    candles: async (series, range, nowMs) => cut(await data.candles(series, range, nowMs)),
    assetHistory: async (series, range, nowMs) => cut(await data.assetHistory(series, range, nowMs)),
  };
}

function checked(faults: Faults): Faults {
  const dealt = rates.map(([, name]) => [name, faults[name]] as const);
  for (const [name, rate] of [...dealt, ['reviseRate', faults.reviseRate] as const]) {
    if (!(rate >= 0 && rate <= 1)) throw new RangeError(`${name} must lie within 0 to 1: ${rate}`);
  }
  const sum = dealt.reduce((total, [, rate]) => total + rate, 0);
  const { rateLimitBurst, maxRows, hugeBytes, clockOffsetMs } = faults;
  const whole = { rateLimitBurst, maxRows: maxRows ?? 1, hugeBytes };
  for (const [name, value] of Object.entries(whole)) {
    if (!Number.isInteger(value) || value < 1)
      throw new RangeError(`${name} must be a whole number from 1: ${value}`);
  }
  if (!(Math.abs(clockOffsetMs) < 2 ** 40)) throw new RangeError(`no such clock offset: ${clockOffsetMs}`);
  const { latencyMs, rateLimitResetMs, staleMs, reviseAfterMs } = faults;
  const durations = { latencyMs, rateLimitResetMs, staleMs, reviseAfterMs };
  for (const [name, value] of Object.entries(durations)) {
    if (!(value >= 0 && value < 2 ** 31))
      throw new RangeError(`${name} must be milliseconds from 0: ${value}`);
  }
  if (sum > 1 + Number.EPSILON * rates.length) throw new RangeError(`the fault rates sum to ${sum}, over 1`);
  return Object.freeze({ ...faults });
}
