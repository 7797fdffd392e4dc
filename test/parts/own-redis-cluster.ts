/** A Redis cluster for one test, without replicas. */

import { join } from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished, type TestContext } from 'vitest';
import { freePort } from './free-port.ts';
import { keepDirectory } from './kept-directory.ts';
import { startRedis } from './redis-part.ts';
import { waitFor } from './wait-for.ts';

const slots = 16_384;

/**
 * @returns the address of its first node. Without a `redis-server` of version 7 the test is skipped with the reason.
 */
export async function ownRedisCluster(
  context: TestContext,
  { size, announced = true }: { size: number; announced?: boolean },
): Promise<string> {
  const directory = keepDirectory();
  const nodes: Array<{ port: number; busPort: number; client: Redis }> = [];
  for (let place = 0; place < size; place += 1) {
    const [port, busPort] = [await freePort(), await freePort()];
    const flags = {
      'cluster-enabled': 'yes',
      'cluster-port': String(busPort),
      // A node that has met no other does not know its own address unless it is configured.
      ...(announced ? { 'cluster-announce-ip': '127.0.0.1' } : {}),
      'cluster-config-file': join(directory, `nodes-${place}.conf`),
    };
    const server = await startRedis({ port, directory, removed: '', flags }).catch((error: Error) => error);
    if (server instanceof Error) return context.skip(`redis-server does not start as a cluster: ${server.message}`);
    const client = new Redis(port);
    onTestFinished(async () => {
      client.disconnect();
      await server.stop();
    });
    nodes.push({ port, busPort, client });
  }
  const share = Math.ceil(slots / size);
  for (const [place, { client }] of nodes.entries()) {
    const last = Math.min((place + 1) * share, slots) - 1;
    await client.call('cluster', 'addslotsrange', String(place * share), String(last));
    for (const { port, busPort } of size > 1 ? nodes : []) {
      await client.call('cluster', 'meet', '127.0.0.1', String(port), String(busPort));
    }
  }
  await waitFor('the cluster', async () => {
    const infos = await Promise.all(nodes.map(({ client }) => client.call('cluster', 'info') as Promise<string>));
    return infos.every((info) => info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${size}`));
  });
  return `redis://127.0.0.1:${nodes[0]?.port}`;
}
