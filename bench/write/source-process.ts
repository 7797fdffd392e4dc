/**
 * A source without limits, in a separate process. It renders each answer before the first request, and serves it
 * uncompressed from memory. It ends with the process that started it.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basePath } from '../../service/request.ts';
import { dayQuery, everyDay } from './days.ts';

const bodies = new Map<string, Buffer>();
for (const day of everyDay(Number(process.argv[2]))) {
  const text = JSON.stringify({ data: day.rows, timestamp: Date.now() });
  bodies.set(`${basePath}/candles?${dayQuery(day)}`, Buffer.from(text));
}

const server = createServer((request, response) => {
  const body = bodies.get(request.url ?? '');
  if (body === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('not one of the windows');
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const bytes = [...bodies.values()].reduce((sum, body) => sum + body.length, 0);
  process.send?.({ url: `http://127.0.0.1:${port}${basePath}`, answers: bodies.size, bytes });
});
process.on('disconnect', () => process.exit());
