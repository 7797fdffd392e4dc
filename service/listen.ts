/** Has an app listen, or says in a line why it cannot. */

import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { TidemarkError } from '../errors.ts';
import { basePath } from './target.ts';

export interface Listening {
  /** Base address, ending in `/v2`. */
  readonly url: string;
  readonly port: number;
}

/**
 * @param at port 0 takes any free one. Closes the app when it cannot listen.
 * @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that cannot be listened on.
 */
export async function listen(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listening> {
  try {
    await app.listen({ port, host });
  } catch (error) {
    await app.close();
    throw explained(error, port, host);
  }
  const bound = (app.server.address() as AddressInfo).port;
  const name = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${name}:${bound}${basePath}`, port: bound };
}

/** Why the system lets nobody listen there: no such name or address, a port kept for root, and the like. */
function explained(error: unknown, port: number, host: string): unknown {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return error;
  if (error.code === 'EADDRINUSE') {
    return new TidemarkError('PORT_IN_USE', `port ${port} on ${host} is in use`, { cause: error });
  }
  const remedy =
    error.code === 'EACCES' ? 'choose a port from 1024 on' : 'choose an address of this machine with --host';
  return new TidemarkError('BAD_ARGUMENT', `cannot listen on ${host}, port ${port}: ${error.message}`, {
    cause: error,
    remedy,
  });
}
