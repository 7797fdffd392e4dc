/**
 * A process that sends one request repeatedly on several connections, each after its previous answer, and reports the
 * results. It parses only the end of an answer, so that it measures the service.
 */

import { connect, type Socket } from 'node:net';

export interface Load {
  readonly url: string;
  readonly paths: readonly string[];
  readonly connections: number;
  readonly seconds: number;
}

export interface Outcome {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

process.once('message', (load: Load) => {
  void ask(load).then((outcome) => process.send?.(outcome, () => process.exit()));
});

async function ask({ url, paths, connections, seconds }: Load): Promise<Outcome> {
  const { hostname, port, pathname } = new URL(url);
  const requests = paths.map((path) =>
    Buffer.from(`GET ${pathname}${path} HTTP/1.1\r\nHost: ${hostname}\r\nAccept: application/json\r\n\r\n`),
  );
  const times: number[] = [];
  const started = performance.now();
  const endMs = started + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async (_, place) => {
      const socket = connect(Number(port), hostname);
      socket.setNoDelay(true);
      for (let turn = place; performance.now() < endMs; turn += 1) {
        const askedMs = performance.now();
        await answered(socket, requests[turn % requests.length] ?? Buffer.alloc(0));
        times.push(performance.now() - askedMs);
      }
      socket.destroy();
    }),
  );
  const took = (performance.now() - started) / 1000;
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? 0;
  return { perSecond: times.length / took, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Resolves when the whole answer has arrived. @throws Error unless its status is 200. */
function answered(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let head: Buffer = Buffer.alloc(0);
    let left = -1;
    const fail = (error: Error) => finish(() => reject(error));
    function finish(settle: () => void): void {
      socket.off('data', read);
      socket.off('error', fail);
      settle();
    }
    function read(chunk: Buffer): void {
      if (left < 0) {
        head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
        const end = head.indexOf('\r\n\r\n');
        if (end === -1) return;
        const text = head.toString('latin1', 0, end);
        if (!text.startsWith('HTTP/1.1 200')) {
          fail(new Error(text.slice(0, 100)));
          return;
        }
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1]);
        left = length - (head.length - end - 4);
      } else left -= chunk.length;
      if (left === 0) finish(resolve);
    }
    socket.on('data', read);
    socket.on('error', fail);
    socket.write(request);
  });
}
