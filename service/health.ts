/** Health endpoints for load balancers. */

import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import { cachedFor } from './cached.ts';
import { lagSeconds } from './replica-lag.ts';

interface Health {
  /** Rejects when the store cannot be read. */
  readonly assertReadable: () => Promise<unknown>;
  /** True once shutdown has begun. */
  readonly isDraining: () => boolean;
  /** Absent: the store is no replica. */
  readonly replicaLagMs?: (() => number | null) | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

/** The endpoint is public, so the check is cached. */
const checkCacheMs = 1000;

/** `/healthz`: the process responds. `/readyz`: it can serve requests. */
export function addHealth(app: FastifyInstance, { assertReadable, isDraining, replicaLagMs, clock }: Health): void {
  const reads = cachedFor(checkCacheMs, () =>
    assertReadable().then(
      () => true,
      () => false,
    ),
  );
  app.get('/healthz', async (_request, reply) => reply.header('cache-control', 'no-store').send({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    if (isDraining()) return reply.code(503).send({ status: 'stopping' });
    if (!(await reads(clock.now()))) return reply.code(503).send({ status: 'the store cannot be read' });
    if (replicaLagMs === undefined) return reply.send({ status: 'ready' });
    return reply.send({ status: 'ready', replicaLagSeconds: lagSeconds(replicaLagMs()) });
  });
}
