/** The service as it faces the world, on a test's database: as the role that only reads. */

import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { readerRole } from '../../../schema/roles.ts';
import { postgresCounter } from '../../../service/admission/request-counter.ts';
import { createStoredService, type StoredServiceOptions } from '../../../service/stored-service.ts';
import { openDatabase } from '../../../store/db/database.ts';
import type { TestStore } from '../../store/open-store.ts';

export type FacingOptions = Partial<Omit<StoredServiceOptions, 'reading' | 'accounts'>>;

/** Without limits unless given. Closing it closes its connections. */
export async function openFacing(
  { url }: Pick<TestStore, 'url'>,
  options: FacingOptions = {},
): Promise<FastifyInstance> {
  const open = (settings: readonly string[]) =>
    openDatabase({
      url,
      applicationName: 'tidemark test',
      maxConnections: 4,
      statementTimeoutMs: 10_000,
      settings: [`role=${readerRole}`, ...settings],
    });
  const reading = open(['default_transaction_read_only=on']);
  const accounts = open([]);
  const app = await createStoredService({
    counter: postgresCounter(accounts.pool),
    perMinute: { withoutKey: 0, withKey: 0 },
    trustedProxies: 0,
    clock: systemClock,
    version: '0.0.0',
    isDraining: () => false,
    rememberMs: 0,
    pages: resolve('dist/service/pages/files'),
    ...options,
    reading: reading.pool,
    accounts: accounts.pool,
  });
  app.addHook('onClose', async () => {
    await reading.close();
    await accounts.close();
  });
  return app;
}

/** Listens on a free port until the test has finished. @returns the address without a path. */
export async function listening(app: FastifyInstance): Promise<string> {
  onTestFinished(() => app.close());
  return app.listen({ port: 0, host: '127.0.0.1' });
}
