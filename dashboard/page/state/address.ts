/** The view in the page's URL, so that a reload, the back button and a bookmark show the same view. */

import { systemClock } from '../../../clock.ts';
import { dayMs, minuteMs, type Range } from '../../../model/intervals.ts';

export type ViewName = 'overview' | 'problems' | 'backfills' | 'events' | 'list' | 'series' | 'unknown';

export interface Address {
  readonly view: ViewName;
  readonly seriesId: number;
  /** Name of the polled list of the view `list`. */
  readonly list: string;
  readonly find: string;
  /** Name of a filter of the series; empty: none. */
  readonly filter: string;
  /** Exchange and interval of the series; empty: all. */
  readonly exchange: string;
  readonly interval: string;
  readonly sort: string;
  readonly axis: string;
  readonly page: number;
  /** Options of the chart of a series; empty: the usual. */
  readonly scale: string;
  readonly span: string;
  readonly bars: string;
  readonly zone: string;
  /** Id of another series; 0: none. */
  readonly compare: number;
  /** Of the chart; null: its newest part. */
  readonly range: Range | null;
  /** The part of a series to act on; null: none. */
  readonly chosen: Range | null;
  /** The beginning of a minute whose requests are shown; null: none. */
  readonly minute: number | null;
}

const views: readonly ViewName[] = ['overview', 'problems', 'backfills', 'events', 'list'];

/** What the address leaves out. */
const usual: Readonly<Record<string, string>> = {
  view: 'overview',
  sort: 'missing',
  axis: 'own',
  page: '1',
  compare: '0',
};

export function readAddress(search: string): Address {
  const given = new URLSearchParams(search);
  const text = (name: string) => given.get(name) ?? usual[name] ?? '';
  return {
    view: viewOf(given),
    seriesId: idOf(given.get('series')),
    list: text('list'),
    find: text('find'),
    filter: text('filter'),
    exchange: text('exchange'),
    interval: text('interval'),
    sort: text('sort'),
    axis: text('axis'),
    page: Math.max(1, Math.floor(Number(text('page'))) || 1),
    scale: text('scale'),
    span: text('span'),
    bars: text('bars'),
    zone: text('zone'),
    compare: idOf(given.get('compare')),
    range: rangeAt(given, 'from', 'to'),
    chosen: rangeAt(given, 'since', 'until'),
    minute: minuteAt(given),
  };
}

/** What begins with a date, of the years that anything is tracked in: others have no place in a chart. */
function timeAt(given: URLSearchParams, name: string): number | null {
  const text = given.get(name) ?? '';
  const timeMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return timeMs >= 0 && timeMs <= latestMs ? timeMs : null;
}

const latestMs = Date.UTC(2100, 0);

function rangeAt(given: URLSearchParams, start: string, end: string): Address['range'] {
  const [startMs, endMs] = [timeAt(given, start), timeAt(given, end)];
  return startMs !== null && endMs !== null && startMs < endMs ? { startMs, endMs } : null;
}

/** Clocks may differ by a little; nothing was requested in times to come. */
function minuteAt(given: URLSearchParams): number | null {
  const timeMs = timeAt(given, 'minute');
  return timeMs === null || timeMs > systemClock.now() + dayMs ? null : Math.floor(timeMs / minuteMs) * minuteMs;
}

/** The query without the times that {@link readAddress} ignores. */
export function withoutWrongTimes(search: string): string {
  const given = new URLSearchParams(search);
  const { range, chosen, minute } = readAddress(search);
  const wrong = [
    ...(range === null ? ['from', 'to'] : []),
    ...(chosen === null ? ['since', 'until'] : []),
    ...(minute === null ? ['minute'] : []),
  ].filter((name) => given.has(name));
  if (wrong.length === 0) return search;
  for (const name of wrong) given.delete(name);
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}

function viewOf(given: URLSearchParams): ViewName {
  const series = given.get('series');
  if (series !== null) return idOf(series) > 0 ? 'series' : 'unknown';
  const view = given.get('view') ?? 'overview';
  return views.find((name) => name === view) ?? 'unknown';
}

function idOf(text: string | null): number {
  const id = Number(text ?? 0);
  return Number.isSafeInteger(id) && id > 0 ? id : 0;
}

/** A relative URL, because a proxy may serve the page in a folder. */
export function hrefOf({ seriesId, range, chosen, minute = null, ...address }: Partial<Address>): string {
  const search = new URLSearchParams();
  if (address.view === 'series') search.set('series', String(seriesId));
  for (const [name, value] of Object.entries(address)) {
    const text = String(value);
    const isSeries = name === 'view' && text === 'series';
    if (text !== '' && text !== usual[name] && !isSeries) search.set(name, text);
  }
  const put = (of: Address['range'] | undefined, start: string, end: string) => {
    if (of == null) return;
    search.set(start, isoOf(of.startMs));
    search.set(end, isoOf(of.endMs));
  };
  put(range, 'from', 'to');
  put(chosen, 'since', 'until');
  if (minute !== null) search.set('minute', isoOf(minute));
  const text = search.toString();
  return text === '' ? './' : `./?${text}`;
}

/** Without a part that is zero. */
function isoOf(timeMs: number): string {
  return new Date(timeMs)
    .toISOString()
    .replace(/(?:T00:00)?(?::00)?\.000Z$/, (zeros) => (zeros.startsWith('T') ? '' : 'Z'));
}
