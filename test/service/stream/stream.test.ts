/** `/v2/stream` on a store that grows while clients listen. */

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { type EpochMs, graceMs, hourMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { storedMarketData } from '../../../service/queries/series.ts';
import { type Cursor, writeCursors } from '../../../service/stream/cursor.ts';
import { follow, type News } from '../../../service/stream/followed.ts';
import { createSimulator } from '../../../simulator/simulator.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { commitRates } from '../../store/committing.ts';
import { useStore } from '../../store/open-store.ts';
import { openFacing } from '../stored/facing.ts';
import { fill } from '../stored/stored-world.ts';

const startMs = Date.UTC(2024, 3, 1);
let nowMs = startMs + 10 * hourMs + 2 * graceMs;
/** Times of the test, and real waits. */
const clock = {
  ...systemClock,
  now: () => nowMs,
  sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(20, signal),
};
const candles: SeriesKey = bitcoinHours;
const history: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' };
const { truth } = createSimulator({ seed: 'stored', clock: { now: () => Date.UTC(2024, 4, 16, 10, 7, 31) } });

const store = useStore();
let url: string;
let close: () => Promise<unknown>;
beforeAll(async () => {
  const app = await openFacing(store, { clock });
  close = () => app.close();
  url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/v2/stream`;
});
afterAll(() => close());

const put = (key: SeriesKey, fromHour: number, toHour: number) =>
  fill(store.database, key, { startMs: startMs + fromHour * hourMs, endMs: startMs + toHour * hourMs });

interface Event {
  readonly id: string;
  readonly series: string;
  readonly data: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

async function listen(series: string, { id, start }: { id?: string; start?: EpochMs } = {}) {
  const query = new URLSearchParams({ series, ...(start === undefined ? {} : { start: String(start) }) });
  const request = get(`${url}?${query}`, { agent: false, headers: id === undefined ? {} : { 'last-event-id': id } });
  request.on('error', () => {});
  onTestFinished(() => void request.destroy());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let rest = '';
  const events: Event[] = [];
  let wake = () => {};
  response.setEncoding('utf8').on('error', () => {});
  response.on('data', (text: string) => {
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, eventId = '', data = ''] = /^event: points\nid: (.*)\ndata: (.*)$/.exec(block) ?? [];
      if (data !== '') events.push({ id: eventId, ...(JSON.parse(data) as Omit<Event, 'id'>) });
    }
    wake();
  });
  return {
    response,
    leave: () => request.destroy(),
    /** Hours of the next rows, at least so many, and the id after them. */
    async next(count: number): Promise<{ rows: Event['data']; id: string }> {
      const rows: Event['data'][number][] = [];
      let last = '';
      while (rows.length < count) {
        const event = events.shift();
        if (event === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        rows.push(...event.data);
        last = event.id;
      }
      return { rows, id: last };
    },
  };
}

const hoursOf = (rows: Event['data'], field = 'period') => rows.map((row) => (Number(row[field]) - startMs) / hourMs);
const span = (from: number, to: number) => Array.from({ length: to - from }, (_, place) => from + place);
const market = 'binance bitcoin/tether h1';

it('sends what is closed and stored, then what comes, and to a client that comes back what it missed', async () => {
  await put(candles, 0, 10);
  const first = await listen(market, { start: startMs });
  expect(first.response.statusCode).toBe(200);
  expect(first.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  const begun = await first.next(10);
  expect(hoursOf(begun.rows)).toEqual(span(0, 10));
  const [stored] = truth.points(candles, { startMs, endMs: startMs + hourMs });
  expect(begun.rows[0]).toEqual(stored);

  nowMs += 2 * hourMs;
  await put(candles, 10, 12);
  const more = await first.next(2);
  expect(hoursOf(more.rows)).toEqual([10, 11]);
  first.leave();

  // A gap, and the hours after it.
  nowMs += 6 * hourMs;
  await put(candles, 15, 18);
  const second = await listen(market, { id: more.id });
  const after = await second.next(3);
  expect(hoursOf(after.rows)).toEqual([15, 16, 17]);
  second.leave();
  await put(candles, 12, 14);
  const third = await listen(market, { id: after.id });
  const filled = await third.next(2);
  expect(hoursOf(filled.rows)).toEqual([12, 13]);
  await put(candles, 14, 15);
  expect(hoursOf((await third.next(1)).rows)).toEqual([14]);
  third.leave();
  // The id of before the gap was filled brings it once more.
  const fourth = await listen(market, { id: after.id });
  expect(hoursOf((await fourth.next(3)).rows)).toEqual([12, 13, 14]);
});

it('sends no candle before its grace time is over, and nothing of before without a start', async () => {
  const stream = await listen(market);
  await put(candles, 18, 19);
  nowMs += hourMs - 2 * graceMs + graceMs / 2;
  await systemClock.sleep(200);
  nowMs += 2 * graceMs;
  expect(hoursOf((await stream.next(1)).rows)).toEqual([18]);
});

it('follows several series, derived ones and rates', async () => {
  await put(history, 0, 6);
  const names = [market, 'binance bitcoin/tether h4', 'bitcoin h1', 'rates euro'];
  const stream = await listen(names.join(','), { start: startMs });
  const seen = await stream.next(19 + 4 + 6);
  const times = (field: string) => seen.rows.filter((row) => field in row).length;
  expect([times('open'), times('priceUsd')]).toEqual([23, 6]);

  await commitRates(store.database, {
    answer: {
      ...{ rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 0, durationMs: 0 },
      rows: truth.rates(nowMs),
    },
    nowMs,
  });
  const { rows } = await stream.next(1);
  const euro = truth.rates(nowMs).find(({ id }) => id === 'euro');
  expect(rows).toEqual([expect.objectContaining({ id: 'euro', symbol: 'EUR', rateUsd: euro?.rateUsd })]);
});

it('refuses what it cannot follow', async () => {
  const refused = async (query: string, headers = {}) => {
    const response = await fetch(`${url}${query}`, { headers });
    return [response.status, ((await response.json()) as { error: string }).error];
  };
  expect(await refused('')).toEqual([400, 'missing series']);
  expect(await refused('?series=binance+bitcoin%2Ftether')).toEqual([
    400,
    expect.stringContaining('no series is named'),
  ]);
  expect(await refused('?series=binance+bitcoin%2Ftether+h6')).toEqual([
    400,
    'no series is named "binance bitcoin/tether h6": candles has m1, m5, m15, m30, h1, h2, h4, h8, h12, d1, w1',
  ]);
  expect(await refused('?series=nobody+bitcoin%2Ftether+m1')).toEqual([404, 'nobody bitcoin/tether m1 not found']);
  const foreign = writeCursors(['rates'], [{ untilMs: nowMs, missing: [] }]);
  for (const id of ['a.b', 'garbage', '1', foreign])
    expect(await refused(`?series=${encodeURIComponent(market)}`, { 'last-event-id': id })).toEqual([
      400,
      'Last-Event-ID is not of a stream of these series',
    ]);
});

it('refuses a currency that no poll has stored, once there are others', async () => {
  await store.database.pool.query(
    `insert into tidemark.currencies (currency, symbol, type) values ('euro', 'EUR', 'fiat') on conflict do nothing`,
  );
  const response = await fetch(`${url}?series=${encodeURIComponent('rates zzz')}`);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: 'rates zzz not found' });
});

it('reads nothing of before the first covered period, neither at first nor when a client comes back', async () => {
  const key: SeriesKey = { ...bitcoinHours, interval: 'm1' };
  const covered = { startMs, endMs: startMs + hourMs };
  await fill(store.database, key, covered);
  const asked: EpochMs[] = [];
  const { points } = storedMarketData(store.database.pool);
  const followed = await follow('binance bitcoin/tether m1', {
    pool: store.database.pool,
    points: (series, range, at) => {
      asked.push(range.startMs);
      return points(series, range, at);
    },
    visibleFromMs: null,
  });
  const readAll = async (cursor: Cursor) => {
    let news: News = { rows: [], cursor };
    for await (news of followed.news(news.cursor, nowMs)) rows += news.rows.length;
    return news.cursor;
  };
  let rows = 0;
  const later = await readAll({ untilMs: 0, missing: [] });
  expect(rows).toBe(60);
  expect(later.missing[0]).toEqual({ startMs: 0, endMs: startMs });
  await readAll(later);
  expect(asked.every((fromMs) => fromMs >= startMs)).toBe(true);

  // Of what is stored there later nothing is missed.
  await fill(store.database, key, { startMs: startMs - hourMs, endMs: startMs });
  const last = await readAll(later);
  expect(rows).toBe(120);
  expect(last.missing[0]).toEqual({ startMs: 0, endMs: startMs - hourMs });
});

it('is in the OpenAPI document', async () => {
  const document = (await (await fetch(url.replace('stream', 'openapi.json'))).json()) as { paths: object };
  expect(document.paths).toHaveProperty(['/stream', 'get', 'responses', '200', 'content', 'text/event-stream']);
});

it('ends its streams when the service closes', async () => {
  const app = await openFacing(store, { clock });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const request = get(`${address}/v2/stream?series=rates`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const ended = once(response.resume(), 'close');
  await app.close();
  await ended;
});
