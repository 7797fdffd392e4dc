/** The HTTP endpoint for Prometheus. It has its own listener, so that the public service exposes no metrics. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TidemarkError } from '../errors.ts';
import { hasTwoHosts } from '../service/request.ts';

/** Enough for several scrapers. */
const maxConnections = 32;
const requestMs = 10_000;

/**
 * @param at port 0 takes any free one.
 * @returns the address, such as `http://127.0.0.1:9464/metrics`.
 * @throws TidemarkError PORT_IN_USE, BAD_CONFIGURATION for an address that cannot be listened on.
 */
export async function openMetricsEndpoint(
  read: () => Promise<{ readonly contentType: string; readonly text: string }>,
  at: { readonly host: string; readonly port: number },
) {
  const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, (request, response) => {
    const answer = (status: number, body: string, contentType = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    if (hasTwoHosts(request)) return answer(400, 'give one Host header\n');
    if (request.url?.split('?')[0] !== '/metrics') return answer(404, 'not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'method not allowed\n');
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
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

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
