/** Communication with the server: JSON requests and the event stream. */

import { systemClock, type Timer } from '../../../clock.ts';
import type { Range } from '../../../model/intervals.ts';
import type { Answers, Band, Change, Snapshot, Trouble } from '../../shapes.ts';
import type { Model } from './model.ts';

export class RequestError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Lets the parts of the page request again what failed. */
let retry: () => void = () => {};
let isRetrying = false;

/** A failure of the server or the connection may be over soon; it may also concern one request among many. */
function failed(status: number, message: string): RequestError {
  const mayBeOverSoon = status === 0 || status >= 500;
  if (mayBeOverSoon && !isRetrying) {
    isRetrying = true;
    systemClock.after(retryMs, () => {
      isRetrying = false;
      retry();
    });
  }
  return new RequestError(status, message);
}

async function fetchJson<Path extends keyof Answers>(path: string): Promise<Answers[Path]> {
  const answer = await fetch(`dashboard/${path}`).catch(() => {
    throw failed(0, 'the server cannot be reached');
  });
  if (answer.ok) return (await answer.json()) as Answers[Path];
  const said = (await answer.json().catch(() => null)) as { error?: string } | null;
  throw failed(answer.status, said?.error ?? `the server answered ${answer.status}`);
}

const tokenName = 'tidemark-token';

/** Keeps the token that the address has after `#token=`, and takes it out of the address. */
export function takeToken(): void {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined) return;
  sessionStorage.setItem(tokenName, token);
  history.replaceState(null, '', `${location.pathname}${location.search}`);
}

/** The token, or null for none, of the last request that was refused for it; undefined: none was. */
let refusedToken: string | null | undefined;

/** Whether the service has refused what this page has to show for its right. */
export const mayNotAct = () => refusedToken !== undefined && refusedToken === sessionStorage.getItem(tokenName);

export type Answer = Readonly<Record<string, unknown>>;

/** @throws RequestError with what the service said. */
export async function postAction(action: string, body: object): Promise<Answer> {
  const token = sessionStorage.getItem(tokenName);
  const answer = await fetch(`dashboard/actions/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token !== null && { 'x-tidemark-token': token }) },
    body: JSON.stringify(body),
  });
  const said = (await answer.json().catch(() => ({}))) as Answer;
  if (answer.ok) return said;
  if (answer.status === 401) refusedToken = token;
  const text = [said.error ?? `the server answered ${answer.status}`, said.remedy].filter(Boolean).join('; ');
  throw new RequestError(answer.status, text);
}

/** The newest actions, whoever asked for them; none while they cannot be read. */
export const fetchActions = () => fetchJson<'actions'>('actions').catch(() => []);
export const fetchRange = (id: number, { startMs, endMs }: Range) =>
  fetchJson<'series/:id/range'>(`series/${id}/range?${rangeSearch(startMs, endMs)}`);
/** @returns where the points of a range can be downloaded. */
export const pointsHref = (id: number, { startMs, endMs }: Range) =>
  `dashboard/series/${id}/points.csv?${rangeSearch(startMs, endMs)}`;
export const fetchDetail = (id: number) => fetchJson<'series/:id'>(`series/${id}`);
/** @param seriesId null: of all series. */
export const fetchCalendar = (seriesId: number | null) =>
  fetchJson<'calendar'>(`calendar${seriesId === null ? '' : `?series=${seriesId}`}`);
export const fetchRefusals = (source: string) => fetchJson<'refusals'>(`refusals?source=${encodeURIComponent(source)}`);
/** @param minute its beginning. */
export const fetchRequests = (minute: number) => fetchJson<'requests'>(`requests?minute=${minute}`);
export const fetchStorage = () => fetchJson<'storage'>('storage');
export const fetchEvents = () => fetchJson<'events/log'>('events/log');
/** Outages, bans, pauses and upgrades of a time. */
export const fetchTimeline = ({ startMs, endMs }: Range) =>
  fetchJson<'timeline'>(`timeline?${rangeSearch(startMs, endMs)}`);
export const fetchList = (name: string) => fetchJson<'list'>(`list?name=${encodeURIComponent(name)}`);
export const fetchBackfills = () => fetchJson<'backfills'>('backfills');
export const fetchProblems = () => fetchJson<'problems'>('problems');

const rangeSearch = (fromMs: number, toMs: number) => `from=${Math.max(0, Math.floor(fromMs))}&to=${Math.ceil(toMs)}`;

/** @param fromMs may have a fraction, like `toMs`; the request has whole milliseconds. */
export const fetchPoints = (id: number, interval: string, fromMs: number, toMs: number) =>
  fetchJson<'series/:id/points'>(`series/${id}/points?interval=${interval}&${rangeSearch(fromMs, toMs)}`);

export function fetchBands(ids: readonly number[], columns: number, range: Range | null): Promise<readonly Band[]> {
  const within = range === null ? '' : `&from=${Math.floor(range.startMs)}&to=${Math.ceil(range.endMs)}`;
  return fetchJson<'bands'>(`bands?ids=${ids.join(',')}&columns=${columns}${within}`);
}

/**
 * Keeps the event stream open while the page is visible.
 *
 *   visible  The stream is open, or is retried.
 *   hidden   The stream closes after a short delay: over HTTP/1.1 a browser has six connections to a host, and hidden
 *            tabs would leave none for the visible one. A page that becomes visible reconnects at once and gets a
 *            snapshot.
 */

/** The server sends an event at least every ten seconds. */
const silenceMs = 25_000;
const retryMs = 3000;
/** A short visit to another tab keeps the stream open. */
const hiddenMs = 2000;

export function listen(model: Model): void {
  retry = () => model.retry();
  let source: EventSource | null = null;
  let next: Timer | undefined;
  let leaving: Timer | undefined;
  const takes = {
    snapshot: (snapshot: Snapshot) => model.takeSnapshot(snapshot),
    change: (change: Change) => model.takeChange(change),
    trouble: (trouble: Trouble) => model.takeTrouble(trouble),
  };

  const heard = () => {
    next?.stop();
    next = systemClock.after(silenceMs, reconnect);
  };
  const close = () => {
    next?.stop();
    source?.close();
  };
  const reconnect = () => {
    model.setConnection('lost');
    close();
    next = systemClock.after(retryMs, connect);
  };
  const connect = () => {
    const opened = new EventSource('dashboard/events');
    source = opened;
    heard();
    for (const [name, take] of Object.entries(takes)) {
      opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
        heard();
        take(JSON.parse(data));
      });
    }
    opened.addEventListener('error', () => {
      model.setConnection('lost');
      // The browser retries a broken connection, but not a response that is no event stream.
      if (opened.readyState === EventSource.CLOSED) reconnect();
    });
  };
  const pause = () => {
    close();
    model.setConnection('paused');
  };
  const look = () => {
    leaving?.stop();
    if (document.visibilityState === 'hidden') {
      leaving = systemClock.after(hiddenMs, pause);
    } else if (model.connection === 'paused') {
      model.setConnection('connecting');
      connect();
    }
  };
  connect();
  // The page may have been opened in the background.
  look();
  document.addEventListener('visibilitychange', look);
}
