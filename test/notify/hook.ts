/** A server that is told: it keeps each request, and answers as the test says. */

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function startHook() {
  const received: Received[] = [];
  const answers: Array<Answer | 'never'> = [];
  const server = createServer(async (request, response) => {
    received.push({ path: request.url ?? '', headers: request.headers, body: await text(request) });
    const answer = answers.shift() ?? { status: 200 };
    if (answer === 'never') return;
    // Some quote the request.
    response.writeHead(answer.status, answer.headers).end(`no such hook: ${request.url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url, received, answers },
    /** The documents, and what else was sent by then. */
    documents: () => received.splice(0).map(({ body }) => JSON.parse(body) as Record<string, unknown>),
  };
}
