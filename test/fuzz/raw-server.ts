/** A server that writes the given bytes, valid HTTP or not, and closes the connection. */

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { portOf } from '../sources/local-server.ts';

export interface RawServer {
  readonly baseUrl: string;
  /** The answer to the next request. */
  answer: Buffer;
  close(): void;
}

export async function startRawServer(): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A client may reset the connection.
    socket.on('error', () => {});
    socket.once('data', () => socket.end(raw.answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const raw: RawServer = {
    baseUrl: `http://127.0.0.1:${portOf(server.address())}/v2`,
    answer: Buffer.alloc(0),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return raw;
}

/** A complete HTTP/1.1 response. */
export function httpAnswer(body: Buffer, headers: readonly string[] = [], status = '200 OK'): Buffer {
  const head = [`HTTP/1.1 ${status}`, `content-length: ${body.length}`, 'connection: close', ...headers];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
