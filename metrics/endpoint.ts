/**
 * The HTTP endpoint of a process for Prometheus and for what supervises it. It has its own listener, so that the public
 * service exposes no metrics.
 *
 *   /metrics  For Prometheus.
 *   /healthz  200 while the event loop of this process moves: whoever gets no answer may restart it. It says nothing of
 *             the database or the queue, whose outages no restart mends.
 *   /readyz   200 from the end of the start until the process is told to stop, else 503.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TidemarkError } from '../errors.ts';
import { hasTwoHosts } from '../service/request.ts';

/** Enough for several scrapers. */
const maxConnections = 32;
const requestMs = 10_000;

export type ProcessPhase = 'starting' | 'ready' | 'stopping';

/**
 * @param at port 0 takes any free one.
 * @returns the address, such as `http://127.0.0.1:9464/metrics`.
 * @throws TidemarkError PORT_IN_USE, BAD_CONFIGURATION for an address that cannot be listened on.
 */
export async function openMetricsEndpoint(
  read: () => Promise<{ readonly contentType: string; readonly text: string }>,
  at: { readonly host: string; readonly port: number },
) {
  let phase: ProcessPhase = 'starting';
  const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, (request, response) => {
    const answer = (status: number, body: string, contentType = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    if (hasTwoHosts(request)) return answer(400, 'give one Host header\n');
    const path = request.url?.split('?')[0] ?? '';
    if (!paths.has(path)) return answer(404, 'not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'method not allowed\n');
    if (path === '/healthz') return answer(200, 'ok\n');
    if (path === '/readyz') return answer(phase === 'ready' ? 200 : 503, `${phase}\n`);
    read().then(
      ({ contentType, text }) => answer(200, text, contentType),
      () => answer(500, 'the metrics could not be read\n'),
    );
  });
  server.maxConnections = maxConnections;
  server.listen(at);
  await once(server, 'listening').catch((cause) => {
    throw listenError(cause, at.host, at.port);
  });
  const { port } = server.address() as AddressInfo;
  const name = at.host.includes(':') ? `[${at.host}]` : at.host;
  return {
    url: `http://${name}:${port}/metrics`,
    reach(next: ProcessPhase) {
      phase = next;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const paths: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz']);

function listenError(cause: NodeJS.ErrnoException, host: string, port: number): TidemarkError {
  if (cause.code === 'EADDRINUSE')
    return new TidemarkError('PORT_IN_USE', `METRICS_PORT ${port} on ${host} is in use`, {
      cause,
      remedy: 'give each process on a machine a METRICS_PORT of its own',
    });
  return new TidemarkError(
    'BAD_CONFIGURATION',
    `cannot listen on METRICS_HOST ${host}, METRICS_PORT ${port}: ${cause.message}`,
    { cause, remedy: 'choose an address of this machine, and a port from 1024 on' },
  );
}
