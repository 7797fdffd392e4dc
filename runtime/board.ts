/**
 * Bull Board: BullMQ's queues in the browser, behind a password. It is read-only: coverage determines the jobs, so a queue
 * that is emptied by hand would be filled again.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import { LoginThrottle } from '../dashboard/access.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { hasTwoHosts } from '../service/request.ts';

/** The user name for the password. */
export const boardUser = 'tidemark';

const iconPath = '/tidemark.svg';
const dashboardPath = '/to-dashboard';

/** The colours of service/pages/browser/frame.css. */
const theme = {
  light: {
    background: '#f6f8fa',
    card: '#ffffff',
    foreground: '#1b1f24',
    border: '#d8dee4',
    primary: '#0b6b8a',
  },
  dark: {
    background: '#0d1117',
    card: '#161b22',
    foreground: '#e6edf3',
    border: '#30363d',
    primary: '#4bb3d3',
  },
};

/** Blocks the font that the page loads from another host. The page has inline styles; its scripts are files. */
const contentPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Creates the server, not listening yet. Every path requires the password, with ten wrong attempts per minute. */
export async function createBoard(
  queues: ReturnType<QueueBackend['bullQueues']>,
  {
    password,
    icon,
    dashboardPort,
    clock,
  }: {
    readonly password: string;
    /** The icon of every page, SVG. */
    readonly icon: Buffer;
    /** Where the dashboard is, on the host by whose name the board was opened. */
    readonly dashboardPort: number;
    readonly clock: Pick<Clock, 'now'>;
  },
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true, bodyLimit: 16_384, requestTimeout: 10_000 });
  const isRight = sameAs(`Basic ${Buffer.from(`${boardUser}:${password}`).toString('base64')}`);
  const throttle = new LoginThrottle(clock);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': contentPolicy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    if (hasTwoHosts(request.raw)) return reply.code(400).send('');
    if (throttle.isExceeded(request.ip)) return reply.code(429).header('retry-after', 60).send('');
    const { authorization } = request.headers;
    if (isRight(authorization ?? '')) {
      // Bull Board accepts some requests that change all queues, even in read-only mode.
      if (request.method === 'GET' || request.method === 'HEAD') return;
      return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'QUEUE_READ_ONLY' });
    }
    // A browser sends its first request without a password.
    if (authorization !== undefined) throttle.add(request.ip);
    return reply.code(401).header('www-authenticate', 'Basic realm="Tidemark", charset="UTF-8"').send('');
  });
  app.get(iconPath, async (_request, reply) => reply.type('image/svg+xml').send(icon));
  app.get(dashboardPath, async ({ hostname }, reply) =>
    reply.redirect(`http://${hostname.replace(/:\d+$/, '')}:${dashboardPort}/`),
  );
  const serverAdapter = new FastifyAdapter();
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter,
    options: {
      uiConfig: {
        boardTitle: 'Tidemark',
        boardLogo: { path: iconPath, width: 24, height: 24 },
        favIcon: { default: iconPath, alternative: iconPath },
        miscLinks: [{ text: 'Dashboard', url: dashboardPath }],
        hideDocsLink: true,
        theme,
      },
    },
  });
  await app.register(serverAdapter.registerPlugin());
  return app;
}

/** Compares in constant time. Hashes hide the length. */
function sameAs(expected: string): (given: string) => boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  const wanted = hash(expected);
  return (given) => timingSafeEqual(hash(given), wanted);
}
