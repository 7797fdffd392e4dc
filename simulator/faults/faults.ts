/** Faults of the simulator and their rates. All of them occur in the field. */

import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import { streamKey, uniformAt } from '../hash.ts';

/** Rates are shares of all requests, 0 to 1; together at most 1. */
export interface Faults {
  /** 500. */
  readonly errorRate: number;
  /** No response until the client disconnects or the simulator closes. */
  readonly timeoutRate: number;
  /** 200 with half of the JSON text. */
  readonly truncateRate: number;
  /** 200 with an HTML page. */
  readonly htmlRate: number;
  /** 404 with plain text on a valid path. */
  readonly notFoundRate: number;
  /** 200 with an empty `data`, on lists. */
  readonly emptyRate: number;
  /** 429 with plain text, in bursts: the rate at which bursts begin. */
  readonly rateLimitRate: number;
  /** A connection reset in the middle of the body. */
  readonly resetRate: number;
  /** 200 with the data and timestamp of `staleMs` ago. */
  readonly staleRate: number;
  /** 200 with a body of single bytes that never ends. */
  readonly dripRate: number;
  /** 200 with `hugeBytes` of valid JSON without rows. */
  readonly hugeRate: number;
  /** Requests that a burst refuses. */
  readonly rateLimitBurst: number;
  /** Wait time in the headers of a burst, milliseconds, rounded up to seconds. */
  readonly rateLimitResetMs: number;
  /** The header of a 429 that gives the wait time. */
  readonly rateLimitHeader: RateLimitHeader;
  readonly staleMs: number;
  readonly hugeBytes: number;
  /** Delay before each response, milliseconds. */
  readonly latencyMs: number;
  /** Offset of the service's clock, milliseconds; negative: behind. It applies to data and headers. */
  readonly clockOffsetMs: number;
  /**
   * Share of candles and history points that are revised `reviseAfterMs` after their period. Until then the volume or
   * price is a hundredth lower.
   */
  readonly reviseRate: number;
  readonly reviseAfterMs: number;
  /** Candles and history are silently truncated to this many rows; null: not truncated. */
  readonly maxRows: number | null;
  /** The rows that truncation keeps. */
  readonly capKeeps: 'oldest' | 'newest';
  /** The source bans every address for this long from the setting on, milliseconds; 0: no ban. */
  readonly banMs: number;
  /** How it refuses during a ban. */
  readonly banForm: BanForm;
  /** What is wrong with the answers of candles and history. */
  readonly answerForm: AnswerForm;
  /** Share of an archive's files that are absent, corrupt, cut, without a checksum, or beside a wrong one. */
  readonly badFileRate: number;
  /** Periods before the start of a range whose candles Coinbase adds. */
  readonly rowsBeforeStart: number;
  /** Times of funding events, and of statistics of positions, that a venue lacks. */
  readonly missingPoints: readonly EpochMs[];
  /** Hours of funding events that it gives twice, with different rates. */
  readonly doubledEvents: readonly EpochMs[];
  /** Hours of funding events that it states {@link shiftedByMs} late. */
  readonly shiftedEvents: readonly EpochMs[];
}

export const shiftedByMs = 24 * minuteMs;

export const rateLimitHeaders = ['reset', 'seconds', 'date', 'none'] as const;

/** `X-Ratelimit-Reset` in epoch seconds, `Retry-After` in seconds or as a date, or no header. */
export type RateLimitHeader = (typeof rateLimitHeaders)[number];

export const banForms = [
  'own',
  'no-time',
  'firewall',
  'country',
  'payment',
  'unavailable',
  'unavailable-no-time',
] as const;

/**
 * The source's own ban; the same without a header; 403 with a page of a firewall; 451 for the country; 402 for the
 * plan; 503 with `Retry-After`, and without.
 */
export type BanForm = (typeof banForms)[number];

export const answerForms = [
  'own',
  'another-market',
  'open-rows',
  'contradiction',
  'exchanged-volumes',
  'cached',
] as const;

/**
 * Nothing; they name another market; their newest row is open, whatever the clock says; two rows of a period differ;
 * the volumes in the two assets are exchanged; a cache has kept them for {@link cachedForMs}.
 */
export type AnswerForm = (typeof answerForms)[number];

const archives = ['binance-archive', 'binance-archive-daily', 'binance-usdm-archive'];

/**
 * The profiles whose answers can have a form; absent: all. The others name no market, no state of a row, or no
 * turnover.
 */
export const profilesOfForm: Readonly<Partial<Record<AnswerForm, readonly string[]>>> = Object.freeze({
  'another-market': [...archives, 'bybit', 'bybit-linear', 'kraken'],
  'open-rows': ['kraken', 'okx', 'okx-swap'],
  'exchanged-volumes': [
    'binance',
    ...archives,
    'binance-us',
    'binance-usdm',
    'bybit',
    'bybit-linear',
    'okx',
    'okx-swap',
  ],
});

/** Ascending rows, and one more of the period of the middle one if they are to contradict one another. */
export function contradicting<Row extends object>(rows: Row[], form: AnswerForm): Row[] {
  const middle = rows.length >> 1;
  const row = rows[middle];
  if (form !== 'contradiction' || row === undefined) return rows;
  // Candles have a volume, points of a history a price.
  return rows.toSpliced(middle, 0, { ...row, volume: '1', priceUsd: '1' });
}

export const cachedForMs = 5_400_000;

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
  banMs: 0,
  banForm: 'own',
  answerForm: 'own',
  badFileRate: 0,
  rowsBeforeStart: 0,
  missingPoints: [],
  doubledEvents: [],
  shiftedEvents: [],
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

/** Draws a fault for each request. The n-th request of a seed always draws the same. */
export class FaultDealer {
  readonly #key: number;
  #faults: Faults;
  #drawn = 0;
  #burstLeft = 0;

  /** @throws RangeError when a rate is outside 0 to 1, the rates sum to more than 1, or another value is invalid. */
  constructor(seed: string, faults: Faults) {
    this.#key = streamKey(seed, 'faults');
    this.#faults = checked(faults);
  }

  get faults(): Faults {
    return this.#faults;
  }

  /** Replaces the faults from the next request on and ends a burst. @throws RangeError like the constructor. */
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

function checked(faults: Faults): Faults {
  const dealt = rates.map(([, name]) => [name, faults[name]] as const);
  for (const [name, rate] of [
    ...dealt,
    ['reviseRate', faults.reviseRate] as const,
    ['badFileRate', faults.badFileRate] as const,
  ]) {
    if (!(rate >= 0 && rate <= 1)) throw new RangeError(`${name} must lie within 0 to 1: ${rate}`);
  }
  const sum = dealt.reduce((total, [, rate]) => total + rate, 0);
  const { rateLimitBurst, maxRows, hugeBytes, clockOffsetMs, rowsBeforeStart } = faults;
  const whole = { rateLimitBurst, maxRows: maxRows ?? 1, hugeBytes, rowsBeforeStart: rowsBeforeStart + 1 };
  for (const [name, value] of Object.entries(whole)) {
    if (!Number.isInteger(value) || value < 1) throw new RangeError(`${name} must be a whole number from 1: ${value}`);
  }
  if (!(Math.abs(clockOffsetMs) < 2 ** 40)) throw new RangeError(`no such clock offset: ${clockOffsetMs}`);
  const { latencyMs, rateLimitResetMs, staleMs, reviseAfterMs, banMs } = faults;
  const durations = { latencyMs, rateLimitResetMs, staleMs, reviseAfterMs, banMs };
  for (const [name, value] of Object.entries(durations)) {
    if (!(value >= 0 && value < 2 ** 31)) throw new RangeError(`${name} must be milliseconds from 0: ${value}`);
  }
  if (sum > 1 + Number.EPSILON * rates.length) throw new RangeError(`the fault rates sum to ${sum}, over 1`);
  return Object.freeze({ ...faults });
}
