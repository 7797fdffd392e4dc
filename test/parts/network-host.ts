/**
 * Hosts that are simulated by network namespaces of Linux: each has its own cable to the servers, which a test pulls.
 */

import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { onTestFinished, type TestContext } from 'vitest';

export interface NetworkHost {
  readonly prefix: readonly string[];
  /** The address of a local server as the host reaches it. */
  reach(url: string): Promise<string>;
  /** Pulls the cable: packets are lost, and no connection ends. */
  cut(): void;
  mend(): void;
  /** Connections that the host has opened so far. */
  connections(): number;
}

/** Skips the test, with the reason, where namespaces cannot be created: they need root and iproute2. */
export function networkHost(context: TestContext): NetworkHost {
  // A name and a network of 169.254.0.0/16 that no other test has.
  const number = randomInt(1, 2 ** 14);
  const name = `tidemark-${number}`;
  const [near, far] = [1, 2].map((host) => `169.254.${number >> 6}.${((number & 63) << 2) + host}`);
  const cable = `tm${number}`;
  const ip = (...words: string[]) => execFileSync('ip', words, { stdio: 'pipe' });
  try {
    ip('netns', 'add', name);
  } catch (error) {
    return context.skip(`no network namespace can be created: ${error instanceof Error ? error.message : error}`);
  }
  // The cable goes with it.
  onTestFinished(() => void ip('netns', 'delete', name));
  ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'up0', 'netns', name);
  ip('addr', 'add', `${near}/30`, 'dev', cable);
  ip('link', 'set', cable, 'up');
  ip('-n', name, 'addr', 'add', `${far}/30`, 'dev', 'up0');
  ip('-n', name, 'link', 'set', 'up0', 'up');
  ip('-n', name, 'link', 'set', 'lo', 'up');
  let connections = 0;
  return {
    prefix: ['ip', 'netns', 'exec', name],
    connections: () => connections,
    cut: () => void ip('link', 'set', cable, 'down'),
    mend: () => void ip('link', 'set', cable, 'up'),
    async reach(url) {
      const { hostname, port } = new URL(url);
      const forward = createServer((asking) => {
        connections += 1;
        const server = connect(Number(port), hostname);
        asking.pipe(server).pipe(asking);
        for (const socket of [asking, server]) {
          socket.on('error', () => {});
          socket.on('close', () => (socket === asking ? server : asking).destroy());
          onTestFinished(() => void socket.destroy());
        }
      });
      forward.listen(0, near);
      await once(forward, 'listening');
      onTestFinished(() => void forward.close());
      const address = forward.address();
      if (address === null || typeof address === 'string') throw new Error('no TCP address');
      const reached = new URL(url);
      reached.host = `${near}:${address.port}`;
      return reached.href;
    },
  };
}
