import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { databaseAway } from '../../../planning/headline.ts';
import { Live, Stream } from '../../../service/dashboard/live.ts';
import type { SeriesLine, Snapshot, Summary } from '../../../service/dashboard/shapes.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { waitFor } from '../../parts/wait-for.ts';

const summary: Summary = {
  nowMs: 0,
  synthetic: false,
  perMinute: 200,
  queue: null,
  state: { headline: databaseAway('none'), also: [], left: 0, etaMs: null },
  serviceMessage: null,
  lists: [],
  quarantined: { rows: 0, hasOlder: false },
  ...{ requests: { startMs: 0, lanes: {}, failed: [] }, database: 'none' },
};

function line(id: number, version: string): SeriesLine {
  return {
    ...{
      id,
      ...{ name: `series ${id}`, exchange: null, interval: 'd1', periodMs: 1 },
      fromMs: 0,
      toMs: null,
      wantedMs: 1,
      coveredMs: 1,
      emptyMs: 0,
      missingMs: 0,
    },
    failedMs: 0,
    beyondDepthMs: 0,
    awaitingMs: 0,
    gaps: 0,
    behindMs: 0,
    requestsLeft: 0,
    requests: 1,
    points: 1,
    newestMs: null,
    revised: 0,
    blocked: null,
    inFlight: 0,
    version,
  };
}

async function opened(readTimeoutMs = 60_000) {
  const state = {
    snapshot: { summary, series: [line(1, 'a'), line(2, 'a')] } as Snapshot,
    away: false,
    reads: 0,
    /** Pages that have gone; a reading ends at once, so that none is under way then. */
    left: 0,
    nowMs: 0,
    hang: null as Promise<void> | null,
  };
  const live = new Live({
    read: async () => {
      state.reads += 1;
      await state.hang;
      if (state.away) throw new Error('away');
      return state.snapshot;
    },
    clock: clockAt(() => state.nowMs),
    tickMs: 5,
    readTimeoutMs,
    onTrouble: () => {},
  });
  const server = createServer((_request, response) => {
    response.writeHead(200);
    response.flushHeaders();
    live.add(response);
    response.on('close', () => {
      state.left += 1;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    live.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { state, live, connect: () => connect(port) };
}

interface Event {
  readonly name: string;
  readonly data: { series?: SeriesLine[]; gone?: number[] };
}

async function connect(port: number) {
  const request = get({
    port,
    host: '127.0.0.1',
    agent: false,
  });
  request.on('error', () => {});
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  let isOver = false;
  response.on('close', () => {
    isOver = true;
  });
  const events = (): Event[] =>
    text
      .split('\n\n')
      .slice(0, -1)
      .map((block) => {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
        return { name: field('event') ?? '', data: JSON.parse(field('data') ?? '{}') };
      });
  return { response, events, isOver: () => isOver, leave: () => request.destroy() };
}

const names = (events: readonly Event[]) => events.map(({ name }) => name);

it('sends a snapshot once and then only changes', async () => {
  const { state, connect } = await opened();
  const page = await connect();
  await waitFor('the snapshot', () => page.events().length === 1);
  state.snapshot = { summary, series: [line(1, 'b'), line(3, 'a')] };
  await waitFor('the change', () => page.events().length === 2);
  const [first, second] = page.events();
  expect(first?.name).toBe('snapshot');
  expect(first?.data.series?.map(({ id }) => id)).toEqual([1, 2]);
  expect(second?.name).toBe('change');
  expect(second?.data.series).toEqual([line(1, 'b'), line(3, 'a')]);
  expect(second?.data.gone).toEqual([2]);
  const { reads } = state;
  await waitFor('more readings', () => state.reads > reads + 5);
  expect(page.events()).toHaveLength(2);
});

it('reads once for all pages and not while none is open', async () => {
  const { state, connect } = await opened();
  const pages = await Promise.all(Array.from({ length: 10 }, () => connect()));
  await waitFor('snapshots', () => pages.every((page) => page.events().length > 0));
  const { reads } = state;
  state.snapshot = { summary, series: [line(1, 'b')] };
  await waitFor('changes', () => pages.every((page) => names(page.events()).includes('change')));
  // A reading may have begun before the change was made.
  expect(state.reads - reads).toBeLessThan(10);
  for (const page of pages) page.leave();
  let last = -1;
  await waitFor(
    'the end of reading',
    () => {
      const isStill = state.reads === last;
      last = state.reads;
      return isStill;
    },
    { everyMs: 100 },
  );
});

it('sends a snapshot to a page that reconnects', async () => {
  const { state, connect } = await opened();
  const stays = await connect();
  const page = await connect();
  await waitFor('the snapshot', () => page.events().length === 1);
  page.leave();
  state.snapshot = { summary, series: [line(1, 'b'), line(2, 'a')] };
  await waitFor('the change', () => stays.events().length === 2);
  const back = await connect();
  await waitFor('the snapshot again', () => back.events().length === 1);
  expect(back.events()[0]).toMatchObject({ name: 'snapshot', data: state.snapshot });
});

it('reports an unavailable store and its return', async () => {
  const { state, connect } = await opened();
  state.away = true;
  const page = await connect();
  await waitFor('trouble', () => names(page.events()).includes('trouble'));
  state.away = false;
  await waitFor('the snapshot', () => names(page.events()).includes('snapshot'));
  state.away = true;
  await waitFor('trouble again', () => names(page.events()).at(-1) === 'trouble');
  const late = await connect();
  await waitFor('both', () => late.events().length >= 2);
  expect(names(late.events()).slice(0, 2)).toEqual(['snapshot', 'trouble']);
  state.away = false;
  // Though nothing differs: the page has to know.
  await waitFor('the end of it', () => names(page.events()).at(-1) === 'change');
});

it('repeats the trouble event while a reading hangs, and recovers by itself', async () => {
  const { state, connect } = await opened(100);
  const page = await connect();
  await waitFor('the snapshot', () => page.events().length === 1);
  let answer = () => {};
  state.hang = new Promise((resolve) => {
    answer = resolve;
  });
  await waitFor('trouble', () => names(page.events()).includes('trouble'));
  // A page that is opened now must not take what was read before for the present.
  const late = await connect();
  await waitFor('trouble there', () => names(late.events()).at(-1) === 'trouble');
  state.nowMs += 10_000;
  const later = await connect();
  await waitFor('trouble again', () => names(page.events()).filter((name) => name === 'trouble').length > 1);
  expect(new Set(names(later.events()))).toEqual(new Set(['trouble']));
  state.hang = null;
  answer();
  await waitFor('the end of it', () => names(page.events()).at(-1) === 'change');
  await waitFor('the end of it there', () => names(late.events()).at(-1) === 'change');
  await waitFor('the snapshot there', () => names(later.events()).at(-1) === 'snapshot');
});

it('never sends a new page a snapshot from before a sleep', async () => {
  const { state, connect } = await opened();
  let page = await connect();
  await waitFor('the snapshot', () => page.events().length === 1);
  for (let sleeps = 0; sleeps < 2; sleeps++) {
    const { left } = state;
    page.leave();
    await waitFor('its end', () => state.left > left);
    state.nowMs += 240_000;
    state.snapshot = { summary: { ...summary, nowMs: state.nowMs }, series: [line(1, `${state.nowMs}`)] };
    page = await connect();
    await waitFor('an event', () => page.events().length > 0);
    expect(page.events()[0]).toMatchObject({ name: 'snapshot', data: state.snapshot });
  }
});

/** A socket that takes one write at a time, when the test lets it. */
function slowSocket() {
  const taken: string[] = [];
  let take: (() => void) | null = null;
  const socket = new Writable({
    highWaterMark: 4,
    write(chunk, _encoding, done) {
      take = () => {
        taken.push(String(chunk));
        done();
      };
    },
  });
  return { socket, taken, take: () => take?.() };
}

it('drops events for a slow page and sends it a snapshot later', async () => {
  const { socket, taken, take } = slowSocket();
  const stream = new Stream(socket as unknown as ServerResponse, () => 'everything');
  stream.send('change 1', 0);
  stream.send('change 2', 10);
  stream.send('change 3', 20);
  // Nothing piles up behind the first one.
  expect(socket.writableLength).toBe('change 1'.length);
  take();
  await waitFor('the snapshot to be written', () => socket.writableLength === 'everything'.length);
  take();
  await waitFor('room again', () => !socket.writableNeedDrain);
  stream.send('change 4', 40_000);
  take();
  expect(taken).toEqual(['change 1', 'everything', 'change 4']);
  expect(socket.destroyed).toBe(false);
});

it('disconnects a page that reads nothing for half a minute', () => {
  const { socket } = slowSocket();
  const stream = new Stream(socket as unknown as ServerResponse, () => 'everything');
  stream.send('change 1', 0);
  stream.send('change 2', 1000);
  stream.send('change 3', 31_000);
  expect(socket.destroyed).toBe(false);
  stream.send('change 4', 31_001);
  expect(socket.destroyed).toBe(true);
});

it('ends every stream on close and refuses new ones', async () => {
  const { live, connect } = await opened();
  const page = await connect();
  await waitFor('the snapshot', () => page.events().length === 1);
  live.close();
  await waitFor('the end', page.isOver);
  expect(live.isFull).toBe(true);
});
