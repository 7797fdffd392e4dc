import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../clock.ts';
import { Live, Stream } from '../../dashboard/live.ts';
import type { Snapshot } from '../../dashboard/shapes.ts';
import { clockAt, createTestClock } from '../parts/test-clock.ts';
import { listenTo, type StreamEvent } from './event-stream.ts';
import { seriesLine, quietSummary as summary } from './lines.ts';

const line = (id: number, version: string) => seriesLine({ id, version });
const named = (name: StreamEvent['name']) => (event: StreamEvent) => event.name === name;

const tickMs = 5;

async function opened(readTimeoutMs = 60_000, clock?: Clock, restMs = tickMs) {
  const state = {
    snapshot: { summary, series: [line(1, 'a'), line(2, 'a')] } as Snapshot,
    away: false,
    reads: 0,
    nowMs: 0,
    hang: null as Promise<void> | null,
    hasChanged: false,
  };
  /** `read`: a reading has begun. `left`: a page has gone; none is under way then. */
  const happened = new EventEmitter();
  const live = new Live({
    read: async () => {
      state.reads += 1;
      happened.emit('read');
      await state.hang;
      if (state.away) throw new Error('away');
      return state.snapshot;
    },
    hasChanged: () => state.hasChanged,
    clock: clock ?? clockAt(() => state.nowMs),
    tickMs: restMs,
    readTimeoutMs,
    onTrouble: () => {},
  });
  const server = createServer((_request, response) => {
    response.writeHead(200);
    response.flushHeaders();
    live.add(response);
    response.on('close', () => happened.emit('left'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    live.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { state, happened, connect: () => listenTo(`http://127.0.0.1:${port}`) };
}

it('sends a snapshot once and then only changes', async () => {
  const { state, happened, connect } = await opened();
  const page = await connect();
  expect(await page.next()).toMatchObject({ name: 'snapshot', data: { series: [{ id: 1 }, { id: 2 }] } });
  state.snapshot = { summary, series: [line(1, 'b'), line(3, 'a')] };
  const change = { summary, series: [line(1, 'b'), line(3, 'a')], gone: [2] };
  expect(await page.next()).toEqual({ name: 'change', data: change });
  for (let readings = 0; readings < 6; readings += 1) await once(happened, 'read');
  expect(page.events).toHaveLength(2);
});

it('reads once for all pages and not while none is open', async () => {
  const clock = createTestClock();
  const { state, happened, connect } = await opened(60_000, clock);
  const pages = await Promise.all(Array.from({ length: 10 }, () => connect()));
  for (const page of pages) await page.next();
  expect(state.reads).toBe(1);
  state.snapshot = { summary, series: [line(1, 'b')] };
  await clock.advance(tickMs);
  for (const page of pages) await page.next(named('change'));
  expect(state.reads).toBe(2);
  for (const page of pages) {
    const left = once(happened, 'left');
    page.leave();
    await left;
  }
  await clock.advance(60_000);
  expect(state.reads).toBe(2);
});

it('reads at once when the queue has gone or come back', async () => {
  const clock = createTestClock();
  const { state, connect } = await opened(60_000, clock, 30_000);
  await (await connect()).next();
  await clock.advance(5000);
  expect(state.reads).toBe(1);
  state.hasChanged = true;
  await clock.advance(500);
  expect(state.reads).toBe(2);
});

it('reports an unavailable store and its return', async () => {
  const { state, connect } = await opened();
  state.away = true;
  const page = await connect();
  await page.next(named('trouble'));
  state.away = false;
  await page.next(named('snapshot'));
  state.away = true;
  await page.next(named('trouble'));
  const late = await connect();
  expect([(await late.next()).name, (await late.next()).name]).toEqual(['snapshot', 'trouble']);
  state.away = false;
  // Though nothing differs: the page has to know.
  await page.next(named('change'));
});

it('never sends a new page a snapshot from before a sleep', async () => {
  const { state, happened, connect } = await opened();
  let page = await connect();
  await page.next();
  for (let sleeps = 0; sleeps < 2; sleeps++) {
    const left = once(happened, 'left');
    page.leave();
    await left;
    state.nowMs += 240_000;
    state.snapshot = { summary: { ...summary, nowMs: state.nowMs }, series: [line(1, `${state.nowMs}`)] };
    page = await connect();
    expect(await page.next()).toEqual({ name: 'snapshot', data: state.snapshot });
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
  const takeAll = async () => {
    const drained = once(socket, 'drain');
    take();
    await drained;
  };
  await takeAll();
  await takeAll();
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
