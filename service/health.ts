/** Health endpoints for load balancers. */

import type { FastifyInstance } from 'fastify';
import type { EpochMs } from '../contract/intervals.ts';
import { lagSeconds } from './replica-lag.ts';

export interface Health {
  /** Rejects when the store cannot be read. */
  readonly assertReadable: () => Promise<unknown>;
  /** True once shutdown has begun. */
  readonly isDraining: () => boolean;
  /** Absent: the store is no replica. */
  readonly replicaLagMs?: (() => number | null) | undefined;
  readonly now: () => EpochMs;
}

/** The endpoint is public, so the check is cached. */
const checkCacheMs = 1000;

/** `/healthz`: the process responds. `/readyz`: it can serve requests. */
export function addHealth(
  app: FastifyInstance,
  { assertReadable, isDraining, replicaLagMs, now }: Health,
): void {
  let known: { readonly atMs: EpochMs; readonly reads: Promise<boolean> } | undefined;
  const reads = () => {
    if (known === undefined || now() - known.atMs >= checkCacheMs) {
      const reads = assertReadable().then(
        () => true,
        () => false,
      );
      known = { atMs: now(), reads };
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
    if (replicaLagMs === undefined) return reply.send({ status: 'ready' });
    return reply.send({ status: 'ready', replicaLagSeconds: lagSeconds(replicaLagMs()) });
  });
}
