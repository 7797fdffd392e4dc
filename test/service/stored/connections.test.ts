/** One address with a thousand connections: others are answered all the same. */

import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDashboardWorld } from '../../dashboard/dashboard-world.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { useStore } from '../../store/open-store.ts';
import { listening, openFacing } from './facing.ts';

const perAddress = 20;
const silentConnections = 1000;

describe('connections of one address', () => {
  const store = useStore('plain');

  function silentFrom(localAddress: string, port: number): Socket {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    return socket;
  }

  /** The status of an answer; null: the connection was closed. */
  function ask(url: string, localAddress: string, headers: Record<string, string> = {}): Promise<number | null> {
    return new Promise((resolve) => {
      const asked = request(url, { localAddress, headers, agent: false }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? null));
      });
      asked.on('error', () => resolve(null));
      asked.end();
    });
  }

  /** Connects this many. @returns resolves when the server has closed them all. */
  async function silent(app: FastifyInstance, port: number, count: number) {
    let left = count;
    const sockets: Socket[] = [];
    const closed = new Promise<void>((resolve) => {
      let seen = 0;
      app.server.on('connection', (socket) => {
        seen += 1;
        if (seen > count) return;
        socket.on('close', () => {
          left -= 1;
          if (left === 0) resolve();
        });
      });
    });
    // As fast as the machine takes them, all at once it would not.
    while (sockets.length < count) {
      const some = Array.from({ length: Math.min(200, count) }, () => silentFrom('127.0.0.1', port));
      await Promise.all(some.map((socket) => once(socket, 'connect')));
      sockets.push(...some);
    }
    return { sockets, closed };
  }

  it('closes a thousand silent connections without affecting other addresses', async () => {
    const timeouts = { requestMs: 60_000, headersMs: 1000, silentMs: 60_000, keepAliveMs: 60_000 };
    const app = await openFacing(store, { connectionsPerAddress: perAddress, timeouts });
    const url = await listening(app);
    const { closed } = await silent(app, Number(new URL(url).port), silentConnections);
    expect(await ask(`${url}/healthz`, '127.0.0.2')).toBe(200);
    // The silent ones never close their end.
    await closed;
    expect(await ask(`${url}/healthz`, '127.0.0.1')).toBe(200);
  });

  it('limits pending requests of each client behind a proxy', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let underWay = 0;
    let reach = () => {};
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const app = await openFacing(store, { connectionsPerAddress: 3, trustedProxies: 1 });
    app.get('/held', async () => {
      underWay += 1;
      if (underWay === 3) reach();
      await held;
      return 'done';
    });
    const url = await listening(app);
    const of = (client: string) => ({ 'x-forwarded-for': client });
    const waiting = [1, 2, 3].map(() => ask(`${url}/held`, '127.0.0.1', of('203.0.113.7')));
    await reached;
    expect(await ask(`${url}/healthz`, '127.0.0.1', of('203.0.113.7'))).toBe(429);
    expect(await ask(`${url}/healthz`, '127.0.0.1', of('203.0.113.8'))).toBe(200);
    release();
    expect(await Promise.all(waiting)).toEqual([200, 200, 200]);
    await waitFor('its turn', async () => (await ask(`${url}/healthz`, '127.0.0.1', of('203.0.113.7'))) === 200);
  });

  it('limits dashboard streams of one address', async () => {
    const world = await openDashboardWorld(store, { streamsPerAddress: 2 });
    onTestFinished(() => world.close());
    const stream = (localAddress: string) =>
      new Promise<{ status: number; end: () => void }>((resolve, reject) => {
        const asked = request(`${world.url}dashboard/events`, { localAddress, agent: false }, (response) => {
          response.on('error', () => {});
          resolve({ status: response.statusCode ?? 0, end: () => void response.destroy() });
        });
        asked.on('error', reject);
        asked.end();
        onTestFinished(() => void asked.destroy());
      });
    const first = await stream('127.0.0.1');
    const statuses = [first, await stream('127.0.0.1'), await stream('127.0.0.1'), await stream('127.0.0.2')];
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 503, 200]);
    first.end();
    await waitFor('room for another', async () => (await stream('127.0.0.1')).status === 200);
  });
});
