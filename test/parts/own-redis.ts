/** A Redis of one test's own, to be stopped and started again. */

import { Redis } from 'ioredis';
import { onTestFinished, type TestContext } from 'vitest';
import { freePort } from './free-port.ts';
import { keepDirectory } from './kept-directory.ts';
import { startRedis } from './redis-part.ts';

export interface OwnRedis {
  readonly url: string;
  /** Loses all that it holds. */
  flush(): Promise<void>;
  /** Writes what it holds to the disk: with that it comes back. */
  save(): Promise<void>;
  /** Ends the server. What it held since it was saved last is lost. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Starts the machine's `redis-server`; where there is none, the test is skipped and says why. */
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
