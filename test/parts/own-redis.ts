/** A Redis for one test, which can stop it and start it again. */

import { Redis } from 'ioredis';
import { onTestFinished, type TestContext } from 'vitest';
import { freePort } from './free-port.ts';
import { keepDirectory } from './kept-directory.ts';
import { startRedis } from './redis-part.ts';

export interface OwnRedis {
  readonly url: string;
  flush(): Promise<void>;
  /** To the disk. It has this data after a restart. */
  save(): Promise<void>;
  /** Stops the server. Changes since the last save are lost. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Starts the machine's `redis-server`. If there is none, the test is skipped with the reason. */
export async function ownRedis(context: TestContext): Promise<OwnRedis> {
  const port = await freePort();
  const directory = keepDirectory();
  const start = () => startRedis({ port, directory, removed: '' });
  const first = await start().catch((error: Error) => error);
  if (first instanceof Error) return context.skip(`redis-server does not start: ${first.message}`);
  let server = first;
  onTestFinished(() => server.stop());
  const url = `redis://127.0.0.1:${port}`;
  const withClient = async (work: (client: Redis) => Promise<unknown>) => {
    const client = new Redis(url);
    await work(client);
    client.disconnect();
  };
  return {
    url,
    flush: () => withClient((client) => client.flushall()),
    save: () => withClient((client) => client.save()),
    stop: () => server.stop(),
    async start() {
      server = await start();
    },
  };
}
