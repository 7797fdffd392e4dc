/**
 * The service of the command line, as `serve` or `run` starts it, whose dashboard acts on a database of the test's own.
 */

import { onTestFinished } from 'vitest';
import { startSimulator } from '../../simulator/start.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { start } from '../scripts/command.ts';

export async function openServing(more: Readonly<Record<string, string>> = {}, command = 'serve') {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env: Record<string, string> = {
    ...{ DATABASE_URL: url, SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '6000' },
    ...more,
  };
  const service = start([command], env);
  // With a password no token is printed.
  const printed = env.DASHBOARD_PASSWORD === undefined ? /#token=\S+\n/ : /dashboard at http:\S+\/;/;
  await waitFor('the address of the dashboard', () => printed.test(service.stdout()));
  const [, acting = '', token = ''] = /(http:\S+\/)#token=(\S+)\n/.exec(service.stdout()) ?? [];
  const [, address = acting] = /dashboard at (http:\S+\/);/.exec(service.stdout()) ?? [];
  return { env, url, simulator, service, address, token };
}
