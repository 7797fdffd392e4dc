/** A local HTTP server that answers as a test requires, and records its requests. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../clock.ts';
import { marketDataService } from '../../sources/profiles/market-data-service.ts';
import { openSource, type Source, type SourceOptions } from '../../sources/source.ts';
import { Arrivals } from '../parts/arrivals.ts';

export interface LocalServer {
  readonly baseUrl: string;
  /** All received requests, in order. */
  readonly requests: Arrivals<{ readonly url: string; readonly headers: IncomingHttpHeaders }>;
}

/** Listens until the test ends. */
export async function serve(listener: RequestListener): Promise<LocalServer> {
  const requests: LocalServer['requests'] = new Arrivals();
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers });
    // Its clock may be another one than that of the test.
    response.sendDate = false;
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${portOf(server.address())}/v2`, requests };
}

/** Answers every request with one JSON value, or with a text verbatim. */
export function serveBody(body: unknown, status = 200, headers: Record<string, string> = {}): Promise<LocalServer> {
  return serve((_, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

/** A source with generous limits, closed when the test ends. */
export function sourceAt(baseUrl: string, options: Partial<SourceOptions> = {}): Source {
  const source = openSource({
    profile: marketDataService,
    baseUrl,
    timeoutMs: 30_000,
    maxBodyBytes: 1_000_000,
    ...{ connections: 4, clock: systemClock, ...options },
  });
  onTestFinished(() => source.close());
  return source;
}

export function portOf(address: ReturnType<ReturnType<typeof createServer>['address']>): number {
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  return address.port;
}
