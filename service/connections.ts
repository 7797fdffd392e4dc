/** The listener of the service: opening it, limiting connections per address, and closing idle connections. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import { TidemarkError } from '../errors.ts';
import { addressCaller } from './admission/address.ts';
import { basePath } from './request.ts';
import { ServiceRefusal } from './response.ts';

interface ListenSettings {
  readonly port: string;
  readonly host: string;
}

/**
 * Closes the app when listening fails.
 * @param at port 0 takes any free one; the path ends the base address, default `/v2`.
 * @param settings what the user changes to choose another port or host.
 * @returns the port, and the base address.
 * @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that cannot be listened on.
 */
export async function listen(
  app: FastifyInstance,
  { host, port, path = basePath }: { readonly host: string; readonly port: number; readonly path?: string },
  settings: ListenSettings = { port: '--port', host: '--host' },
) {
  try {
    await app.listen({ port, host });
  } catch (error) {
    await app.close();
    throw explained(error, port, host, settings);
  }
  const bound = (app.server.address() as AddressInfo).port;
  const name = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${name}:${bound}${path}`, port: bound };
}

/** Listens for a moment. @throws TidemarkError as {@link listen} does. */
export async function assertListenable(
  { host, port }: { readonly host: string; readonly port: number },
  settings: ListenSettings,
): Promise<void> {
  const server = createServer().listen({ port, host });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw explained(error, port, host, settings);
  }
  server.close();
  await once(server, 'close');
}

/** Explains a system error: unknown address, privileged port, and others. */
function explained(error: unknown, port: number, host: string, settings: ListenSettings): unknown {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return error;
  if (error.code === 'EADDRINUSE') {
    return new TidemarkError('PORT_IN_USE', `port ${port} on ${host} is in use`, {
      cause: error,
      remedy: `choose another port with ${settings.port}, or stop the program that listens there`,
    });
  }
  const remedy =
    error.code === 'EACCES' ? 'choose a port from 1024 on' : `choose an address of this machine with ${settings.host}`;
  return new TidemarkError('BAD_ARGUMENT', `cannot listen on ${host}, port ${port}: ${error.message}`, {
    cause: error,
    remedy,
  });
}

/**
 * Closes connections on shutdown. Node closes connections that are idle between two requests, but not those that never
 * sent a complete request. Browsers and load balancers open such connections in advance, and each would delay shutdown.
 *
 * @param options.timeoutMs how long a pending response may still take.
 */
export function endConnectionsOnClose(
  app: FastifyInstance,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): void {
  const pending = new Map<Socket, number>();
  let isClosing = false;
  app.server.on('connection', (socket: Socket) => {
    if (isClosing) return void socket.destroy();
    pending.set(socket, 0);
    socket.once('close', () => pending.delete(socket));
  });
  app.server.on('request', ({ socket }, response) => {
    pending.set(socket, (pending.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (!pending.has(socket)) return;
      const left = (pending.get(socket) ?? 1) - 1;
      pending.set(socket, left);
      if (isClosing && left === 0) socket.destroySoon();
    });
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    for (const [socket, requests] of pending) if (requests === 0) socket.destroy();
    const late = clock.every(timeoutMs, () => {
      late.stop();
      for (const socket of pending.keys()) socket.destroy();
    });
  });
}

/** Shortest time between two warnings: an attacker opens connections in bulk. */
const warnEveryMs = 60_000;

/** Counts the resources that each address holds. */
export class AddressLimit {
  readonly #most: number;
  readonly #held = new Map<string, number>();

  /** @param most per address; 0: unlimited. */
  constructor(most: number) {
    this.#most = most;
  }

  isFull(address: string | undefined): boolean {
    return this.#most > 0 && (this.#held.get(addressCaller(address)) ?? 0) >= this.#most;
  }

  /** @returns releases the resource; call it once. */
  acquire(address: string | undefined): () => void {
    const caller = addressCaller(address);
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + 1);
    return () => {
      const left = (this.#held.get(caller) ?? 1) - 1;
      if (left === 0) this.#held.delete(caller);
      else this.#held.set(caller, left);
    };
  }
}

/**
 * Limits the share of one address, so that an address with many silent connections does not shut out the others.
 * Without proxies the limit is on connections. Behind proxies, which share connections among clients, it is on pending
 * requests.
 *
 * @param limits.perAddress 0: unlimited.
 */
export function limitConnections(
  app: FastifyInstance,
  limits: { readonly clock: Clock; readonly perAddress: number; readonly trustedProxies: number },
): void {
  const held = new AddressLimit(limits.perAddress);
  let warnedMs = Number.NEGATIVE_INFINITY;
  const warn = (address: string | undefined) => {
    if (limits.clock.monotonicMs() - warnedMs < warnEveryMs) return;
    warnedMs = limits.clock.monotonicMs();
    app.log.warn({ address }, 'connection limit of an address reached; refusing more');
  };
  if (limits.trustedProxies === 0) {
    app.server.on('connection', (socket: Socket) => {
      const address = socket.remoteAddress;
      if (held.isFull(address)) {
        warn(address);
        return void socket.destroy();
      }
      socket.once('close', held.acquire(address));
    });
    return;
  }
  app.addHook('onRequest', async (request, reply) => {
    if (held.isFull(request.ip)) {
      warn(request.ip);
      reply.header('retry-after', 1);
      throw new ServiceRefusal(429, 'too many requests at once');
    }
    reply.raw.once('close', held.acquire(request.ip));
  });
}
