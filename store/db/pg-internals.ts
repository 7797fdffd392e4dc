/**
 * The only place that reads private parts of node-postgres. Written for pg 8.23; check it when pg is upgraded.
 * (BullMQ's are in queue/bullmq-internals.ts.)
 */

import type { Socket } from 'node:net';
import type pg from 'pg';

/** The timeout that node-postgres reads at each query, and the socket of a connection. */
export function internals(client: pg.PoolClient) {
  return client as unknown as {
    readonly connectionParameters: { query_timeout: number };
    readonly connection: { readonly stream: Socket };
  };
}

/**
 * Ends the timeout of a COPY to the client. pg-copy-streams does not say when it is over: the timeout would end
 * whatever runs on the connection then.
 */
export function endTimeout(copied: object): void {
  (copied as { readonly callback?: () => void }).callback?.();
}

/** Whether node-postgres gave up waiting for an answer. */
export function isQueryTimeout(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Query read timeout';
}
