/** Answers whose body is the fault: begun with status 200, and never what was asked for. */

import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const headers = { 'content-type': 'application/json; charset=utf-8' };
const beginning = '{"data":[';
const dripEveryMs = 50;
const chunkBytes = 65_536;

/** Breaks the connection after the first bytes of many. */
export function sendCutOff(response: ServerResponse): void {
  response.writeHead(200, { ...headers, 'content-length': chunkBytes });
  response.write(beginning, () => response.destroy());
}

/** Sends a byte now and then, until the client goes away or the service closes. */
export function sendDrip(response: ServerResponse): void {
  response.writeHead(200, headers);
  response.write(beginning);
  const drip = setInterval(() => response.write(' '), dripEveryMs);
  response.on('error', () => {}).on('close', () => clearInterval(drip));
}

/** Sends an empty list in `bytes`, as fast as the client reads it. */
export async function sendHuge(response: ServerResponse, bytes: number): Promise<void> {
  response.writeHead(200, headers);
  const end = '],"timestamp":0}';
  function* body(): Generator<Buffer> {
    yield Buffer.from(beginning);
    const space = Buffer.alloc(chunkBytes, ' ');
    for (let left = bytes - beginning.length - end.length; left > 0; left -= chunkBytes) {
      yield left < chunkBytes ? space.subarray(0, left) : space;
    }
    yield Buffer.from(end);
  }
  // A client that has had enough breaks the connection.
  await pipeline(Readable.from(body()), response).catch(() => {});
}
