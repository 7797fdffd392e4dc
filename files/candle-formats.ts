/**
 * The formats of candle files that other programs write: columns, unit of the time, order, what the name of a file
 * states, and what a period without a row means. `docs/import.md` gives the reasons.
 */

import { dayMs, type EpochMs, hourMs, minuteMs, type Range, weekMs } from '../model/intervals.ts';

export const candleFormatNames = ['binance', 'kraken', 'cryptodatadownload', 'ccxt-json'] as const;
export type CandleFormatName = (typeof candleFormatNames)[number];

export type TimeUnit = 'seconds' | 'milliseconds' | 'microseconds' | 'nanoseconds' | 'dates in UTC';

export interface ReadTime {
  readonly unit: TimeUnit;
  readonly ms: EpochMs;
}

/** Fields as text; null: empty. */
export type Cells = readonly (string | null)[];

/** The columns of a file, by their places from 0 on. */
export interface Columns {
  /** Null: as many as the first row has. */
  readonly count: number | null;
  readonly time: number;
  /** Open, high, low, close and volume. */
  readonly values: readonly number[];
  /** Place of the volume in the quote asset; absent: there is none. */
  readonly turnover?: number;
  /** The asset in which the volume is counted, as the header names it. */
  readonly volumeOf?: string;
}

/** What the name of a file states. */
export interface NameFacts {
  /** As {@link symbolText}; null: nothing. */
  readonly market: string | null;
  /** Null: nothing. */
  readonly intervalMs: number | null;
  /** Range that the times of its rows lie in. */
  readonly range: Range | null;
}

export interface CandleFormat {
  /** For messages. */
  readonly name: string;
  readonly syntax: 'csv' | 'json';
  /** Whether fields may be separated by something else than commas. */
  readonly hasAnySeparator: boolean;
  readonly units: readonly TimeUnit[];
  /** Null: the first two rows of a file tell. */
  readonly isDescending: boolean | null;
  /** A period without a row between two rows had no trade. Otherwise it is unknown. */
  readonly isAbsenceNoTrade: boolean;
  /** Whether a row may begin at no full minute, as Binance's do after an outage. Such a row is quarantined. */
  readonly mayBeginLate: boolean;
  /** Columns of a file without a header; null: it must have one. */
  readonly columns: Columns | null;
  /** Whether a line before the header is no data. */
  isComment(cells: Cells): boolean;
  /** @returns null for unknown columns. */
  header(cells: Cells): Columns | null;
  /** @returns null when it is no time. */
  readTime(text: string | null): ReadTime | null;
  nameFacts(name: string): NameFacts;
  /**
   * Whether the newest row is final, by the way in which its publisher makes such files. Otherwise the period may have
   * been open when the file was made.
   */
  isNewestFinal(facts: NameFacts): boolean;
  /** The time of a row in words, UTC, if it is a date or a date and a time; null: none. */
  dateText(cells: Cells): string | null;
  /** The market that a row names; null: none. */
  symbol(cells: Cells): string | null;
  /** Place of the time at which a period ends by its row's account, in the unit of the file; null: unstated. */
  readonly closeColumn: number | null;
}

const nothing: NameFacts = { market: null, intervalMs: null, range: null };

/** What most formats have. */
export const plain = {
  syntax: 'csv',
  hasAnySeparator: false,
  isDescending: false,
  isAbsenceNoTrade: false,
  mayBeginLate: false,
  closeColumn: null,
  isComment: () => false,
  header: () => null,
  readTime,
  nameFacts: () => nothing,
  isNewestFinal: () => false,
  dateText: () => null,
  symbol: () => null,
} satisfies Partial<CandleFormat>;

const fromSecond = [1, 2, 3, 4, 5];
const klines: Columns = { count: 12, time: 0, values: fromSecond, turnover: 7 };
const ohlcvt: Columns = { count: 7, time: 0, values: fromSecond };

export const candleFormats: Readonly<Record<CandleFormatName, CandleFormat>> = Object.freeze({
  binance: {
    ...plain,
    name: 'binance',
    units: ['milliseconds', 'microseconds'],
    mayBeginLate: true,
    columns: klines,
    header: (cells) => {
      const names = wordsOf(cells);
      const used = ['opentime', 'open', 'high', 'low', 'close', 'volume', 'closetime'];
      return names.length === 12 && used.every((name, place) => names[place] === name) ? klines : null;
    },
    nameFacts: archiveFacts,
    // The archive publishes a day or a month after its end. Any other file may come from the REST interface.
    isNewestFinal: ({ range }) => range !== null,
    closeColumn: 6,
  },
  kraken: {
    ...plain,
    name: 'kraken',
    units: ['seconds'],
    isAbsenceNoTrade: true,
    columns: ohlcvt,
    header: (cells) => (wordsOf(cells).join() === 'time,open,high,low,close,volume,trades' ? { ...ohlcvt } : null),
    nameFacts(name) {
      const [, market, minutes] = /([\p{L}\p{N}]*)_(1|5|15|30|60|240|720|1440)$/iu.exec(stemOf(name)) ?? [];
      return minutes === undefined
        ? nothing
        : { market: marketOf(market), intervalMs: Number(minutes) * minuteMs, range: null };
    },
    // Published after the end of a quarter.
    isNewestFinal: () => true,
  },
  cryptodatadownload: {
    ...plain,
    name: 'cryptodatadownload',
    units: ['seconds', 'milliseconds'],
    isDescending: true,
    columns: null,
    // A spreadsheet pads the line.
    isComment: ([first, ...others]) => /cryptodatadownload/i.test(first ?? '') && others.every((cell) => cell === null),
    header(cells) {
      const names = cells.map((cell) => cell?.toLowerCase() ?? '');
      const [volume, quoteVolume, trades, ...others] = names.slice(7);
      const isKnown =
        names.slice(0, 7).join() === 'unix,date,symbol,open,high,low,close' &&
        /^volume .+/.test(volume ?? '') &&
        /^volume .+/.test(quoteVolume ?? '') &&
        (trades === undefined || /^trade ?count$/.test(trades)) &&
        others.length === 0;
      return isKnown
        ? {
            count: names.length,
            time: 0,
            values: [3, 4, 5, 6, 7],
            turnover: 8,
            volumeOf: symbolText(volume?.slice('volume '.length) ?? ''),
          }
        : null;
    },
    dateText: (cells) => (/^\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d)?$/.test(cells[1] ?? '') ? (cells[1] ?? null) : null),
    symbol: (cells) => symbolText(cells[2] ?? ''),
  },
  'ccxt-json': {
    ...plain,
    name: 'ccxt-json',
    syntax: 'json',
    units: ['milliseconds'],
    columns: { count: 6, time: 0, values: fromSecond },
  },
});

/** `BTC/USDT` and `btc-usdt` as `BTCUSDT`. */
export function symbolText(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, '').toUpperCase();
}

function wordsOf(cells: Cells): string[] {
  return cells.map((cell) => cell?.toLowerCase().replace(/[^a-z]/g, '') ?? '');
}

const unitMs: Readonly<Record<string, number>> = { m: minuteMs, h: hourMs, d: dayMs, w: weekMs };

/** Null: the name has none before its interval. */
function marketOf(text = ''): string | null {
  return text === '' ? null : symbolText(text);
}

/** The name without its ending: `XBTUSD_60` for `XBTUSD_60.csv.gz`. Empty: it has another one. */
function stemOf(name: string): string {
  return /^(.*?)\.(?:csv|(?:csv\.)?(?:zip|gz|zst))$/iu.exec(name)?.[1] ?? '';
}

/** `BTCUSDT-1m-2024-05.zip` is a month, `BTCUSDT-1m-2024-05-01.csv` a day. */
function archiveFacts(name: string): NameFacts {
  const pattern = /([\p{L}\p{N}]*)-(\d+)([a-z]+)-(\d{4})-(\d\d)(?:-(\d\d))?$/iu;
  const [, market, count, unit = '', year, month, day] = pattern.exec(stemOf(name)) ?? [];
  if (count === undefined) return nothing;
  const [y, m, d] = [Number(year), Number(month) - 1, Number(day ?? 1)];
  return {
    market: marketOf(market),
    // 0 for an interval such as a month or a second, which no series has.
    intervalMs: Number(count) * (unitMs[unit] ?? 0),
    range: { startMs: Date.UTC(y, m, d), endMs: day === undefined ? Date.UTC(y, m + 1, 1) : Date.UTC(y, m, d + 1) },
  };
}

const digitsOfUnits: Readonly<Record<number, TimeUnit>> = {
  10: 'seconds',
  13: 'milliseconds',
  16: 'microseconds',
  19: 'nanoseconds',
};

/**
 * Reads a time, a whole number that may be written as `1714521600.0`. From 2001 to 2286 the number of its digits gives
 * its unit.
 *
 * @returns null when it is no such number. The milliseconds may have a fraction.
 */
export function readTime(text: string | null): ReadTime | null {
  const [, digits = ''] = /^([1-9]\d+)(?:\.0*)?$/.exec(text ?? '') ?? [];
  const unit = digitsOfUnits[digits.length];
  if (unit === undefined) return null;
  // The milliseconds have 13 digits. More digits in one number would be rounded.
  return { unit, ms: Number(`${digits.slice(0, 13).padEnd(13, '0')}.${digits.slice(13) || '0'}`) };
}
