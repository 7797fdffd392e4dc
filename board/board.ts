/**
 * Bull Board: BullMQ's queues in the browser, behind a password. It looks and changes nothing: what is to be fetched follows
 * from coverage, so a queue that is emptied by hand would only be filled again.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import Fastify, { type FastifyInstance } from 'fastify';
import type { QueueBackend } from '../queue/backend.ts';
import { Guesses } from '../service/admission/guesses.ts';

/** The name that goes with the password. */
export const boardUser = 'tidemark';

/**
 * Its page names a font elsewhere, which this keeps the browser from asking for. The page's frame has styles of its own,
 * its scripts come as files.
 */
const contentPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Not listening yet. Every path of it asks for the password first, and after ten wrong ones a minute no more. */
export async function createBoard(
  queues: QueueBackend['bullQueues'],
  { password, now = Date.now }: { readonly password: string; readonly now?: () => number },
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true, bodyLimit: 16_384, requestTimeout: 10_000 });
  const isRight = sameAs(`Basic ${Buffer.from(`${boardUser}:${password}`).toString('base64')}`);
  const guesses = new Guesses(now);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': contentPolicy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    if (guesses.areSpent(request.ip)) return reply.code(429).header('retry-after', 60).send('');
    const { authorization } = request.headers;
    if (isRight(authorization ?? '')) {
      // Bull Board itself takes some requests to change all queues at once, and answers 200 to what it leaves undone.
      if (request.method === 'GET' || request.method === 'HEAD') return;
      return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'QUEUE_READ_ONLY' });
    }
    // A browser asks without one first, to learn that it is wanted.
    if (authorization !== undefined) guesses.add(request.ip);
    return reply.code(401).header('www-authenticate', 'Basic realm="Tidemark", charset="UTF-8"').send('');
  });
  const serverAdapter = new FastifyAdapter();
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Tidemark' } },
  });
  await app.register(serverAdapter.registerPlugin());
  return app;
}

/** A comparison that takes as long wherever the two differ: of hashes, whose lengths tell nothing either. */
function sameAs(expected: string): (given: string) => boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  const wanted = hash(expected);
  return (given) => timingSafeEqual(hash(given), wanted);
}
