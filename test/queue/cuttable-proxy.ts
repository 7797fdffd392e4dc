/** A TCP proxy in front of a server, so that one test can disconnect and reconnect it. */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface CuttableProxy {
  /** The server's address with the host and port of the proxy. */
  readonly url: string;
  /** Breaks every connection, and refuses new ones until `mend`. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** From now on the existing connections pass no data, and neither end is notified. New ones work. */
  freeze(): void;
  /** The same for connections made from now on, until `speak` ends it for new ones. */
  silence(): void;
  speak(): void;
  /** From now on no connection passes data until `resume`. No data is lost. */
  hold(): void;
  resume(): void;
}

/** @param retell changes the data that the server sends. */
export async function proxyTo(
  target: string,
  retell: (said: Buffer) => Buffer = (said) => said,
): Promise<CuttableProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const frozen = new Set<Socket>();
  let isSilent = false;
  let isHeld = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    if (isSilent) for (const socket of [near, far]) frozen.add(socket);
    near.on('data', (asked) => frozen.has(near) || far.write(asked));
    near.on('end', () => frozen.has(near) || far.end());
    far.on('data', (said) => frozen.has(far) || near.write(retell(said)));
    far.on('end', () => frozen.has(far) || near.end());
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      if (isHeld) socket.pause();
      socket.on('error', () => frozen.has(socket) || other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        if (!frozen.has(socket)) other.destroy();
      });
    }
  });
  const listen = async (at: number) => {
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  const cut = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  onTestFinished(cut);
  const freeze = () => {
    for (const socket of sockets) frozen.add(socket);
  };
  const url = new URL(target);
  url.host = `127.0.0.1:${address.port}`;
  return {
    url: url.href,
    cut,
    mend: () => listen(address.port),
    freeze,
    silence: () => {
      isSilent = true;
      freeze();
    },
    speak: () => {
      isSilent = false;
    },
    hold: () => {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
  };
}
