/** The lag of the replica from which the service reads, as clients see it. */

import type { FastifyInstance } from 'fastify';
import { isInterfaceRequest } from './request.ts';

/** Seconds by which the answer may be behind, or `unknown`. */
export const replicaLagHeader = 'x-tidemark-replica-lag';

/** Seconds with a fraction; null: unknown. */
export function lagSeconds(lagMs: number | null): number | null {
  return lagMs === null ? null : lagMs / 1000;
}

export function addReplicaLag(app: FastifyInstance, lagMs: () => number | null): void {
  app.addHook('onRequest', async (request, reply) => {
    if (isInterfaceRequest(request)) reply.header(replicaLagHeader, lagSeconds(lagMs()) ?? 'unknown');
  });
}
