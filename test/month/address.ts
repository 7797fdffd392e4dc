/** One address for a server that moves, as a load balancer or a virtual IP address gives it. */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Address {
  /** The URL with which the server was given, at this address. */
  readonly url: string;
  /** From now on connections go to another server; open ones end. */
  moveTo(url: string): void;
}

export async function addressOf(url: string): Promise<Address> {
  let target = new URL(url);
  const open = new Set<Socket>();
  const relay = createServer((asking) => {
    const server = connect(Number(target.port), target.hostname);
    asking.pipe(server).pipe(asking);
    for (const socket of [asking, server]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        (socket === asking ? server : asking).destroy();
      });
    }
  });
  const closeAll = () => {
    for (const socket of open) socket.destroy();
  };
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  onTestFinished(() => {
    relay.close();
    closeAll();
  });
  const bound = relay.address();
  if (bound === null || typeof bound === 'string') throw new Error('no TCP address');
  const reached = new URL(url);
  reached.host = `127.0.0.1:${bound.port}`;
  return {
    url: reached.href,
    moveTo(url) {
      target = new URL(url);
      closeAll();
    },
  };
}
