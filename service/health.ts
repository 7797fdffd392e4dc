/** `/healthz`: the process answers. `/readyz`: it can serve, so that a balancer may send it requests. */

import type { FastifyInstance } from 'fastify';
import type { EpochMs } from '../contract/intervals.ts';

export interface Health {
  /** Rejects, or is false, when the store cannot be read. */
  readonly canRead: () => Promise<boolean>;
  /** True once the process has been asked to stop. */
  readonly isDraining: () => boolean;
  readonly now: () => EpochMs;
}

/** Anyone may ask, so the store is not asked each time. */
const rememberedMs = 1000;

export function addHealth(app: FastifyInstance, { canRead, isDraining, now }: Health): void {
  let known: { readonly atMs: EpochMs; readonly reads: Promise<boolean> } | undefined;
  const reads = () => {
    if (known === undefined || now() - known.atMs >= rememberedMs) {
      known = { atMs: now(), reads: canRead().catch(() => false) };
    }
    return known.reads;
  };
  app.get('/healthz', async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  );
  app.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    if (isDraining()) return reply.code(503).send({ status: 'stopping' });
    if (!(await reads())) return reply.code(503).send({ status: 'the store cannot be read' });
    return reply.send({ status: 'ready' });
  });
}
