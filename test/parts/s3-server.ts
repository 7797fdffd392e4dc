/** s3rver: a server with the interface of S3. It checks who asks, and not the signature. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { emptyDirectory } from '../scripts/command.ts';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

export interface S3Server {
  /** For the environment of a client. */
  readonly env: Readonly<Record<string, string>>;
  readonly url: string;
}

const bucket = 'tides';

/** Starts one with a bucket `tides`. It does not know conditional writes. */
export async function startS3Server(): Promise<S3Server> {
  const port = await freePort();
  const words = ['-d', emptyDirectory(), '-a', '127.0.0.1', '-p', String(port), '--configure-bucket', bucket];
  const child = spawn(process.execPath, ['node_modules/s3rver/bin/s3rver.js', ...words, '--silent']);
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await waitFor('s3rver', async () => (await fetch(`${url}/${bucket}`).catch(() => null))?.ok === true);
  return { url, env: environment(url) };
}

function environment(url: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
  };
}

/** In front of a server: refuses to replace an object where a request says `If-None-Match: *`, as AWS does. */
export async function withConditions({ url }: S3Server): Promise<S3Server> {
  let last: Promise<unknown> = Promise.resolve();
  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const target = new URL(incoming.url ?? '/', url);
    if (incoming.method === 'PUT' && incoming.headers['if-none-match'] === '*') {
      const found = await fetch(target, { method: 'HEAD' });
      if (found.ok) {
        incoming.resume();
        outgoing.writeHead(412, { 'content-type': 'application/xml' });
        outgoing.end('<Error><Code>PreconditionFailed</Code><Message>It exists.</Message></Error>');
        return;
      }
    }
    // The host is signed, so it stays as it is.
    const forwarded = request(target, { method: incoming.method, headers: incoming.headers });
    incoming.pipe(forwarded);
    const [response] = (await once(forwarded, 'response')) as [IncomingMessage];
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
    await once(response, 'end');
  }
  const server = createServer((incoming, outgoing) => {
    last = last.then(() => answer(incoming, outgoing)).catch(() => outgoing.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const own = `http://127.0.0.1:${port}`;
  return { url: own, env: environment(own) };
}
