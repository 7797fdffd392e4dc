/** A client of a Redis cluster, by the address of one of its nodes. */

import { Cluster, type ClusterOptions } from 'ioredis';

interface NodeOptions {
  readonly connectTimeout: number;
  readonly commandTimeout?: number;
  readonly maxRetriesPerRequest: number | null;
  readonly connectionName?: string;
}

/** @param url of any node; the others, which it names, are known by their addresses only: they get its name, password and TLS. */
export function clusterAt(
  url: string,
  { ofNode, ...settings }: Omit<ClusterOptions, 'redisOptions'> & { readonly ofNode: NodeOptions },
): Cluster {
  const { username, password, protocol } = new URL(url);
  return new Cluster([url], {
    ...settings,
    redisOptions: {
      ...ofNode,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' ? { tls: {} } : {}),
    },
  });
}

/**
 * Why no client can find its way in a cluster; null: it can.
 *
 * @param slots the answer to `CLUSTER SLOTS`: ranges of slots, each with the nodes that hold it.
 */
export function troubleOf(slots: unknown): string | null {
  if (!Array.isArray(slots) || slots.length === 0) return 'no node of the cluster holds any slots';
  const hosts = slots.map((range: unknown) =>
    Array.isArray(range) && Array.isArray(range[2]) ? range[2][0] : '',
  );
  // A cluster of one node that nobody ever met does not know its own address.
  return hosts.every((host) => typeof host === 'string' && host !== '')
    ? null
    : 'a node of the cluster does not say where it is: set cluster-announce-ip';
}
