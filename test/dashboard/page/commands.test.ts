/** The commands that the page shows, in its first steps and where it may not act, run. */

import { expect, it, onTestFinished } from 'vitest';
import { steps } from '../../../dashboard/page/overview/begin-here.tsx';
import { actionsOf, commonActions } from '../../../dashboard/page/parts/actions.tsx';
import { startSimulator } from '../../../simulator/start.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { processesMs, tidemark } from '../../scripts/command.ts';

it(
  'shows commands that the command line runs',
  async () => {
    const { url, drop } = await createMigratedDatabase();
    onTestFinished(drop);
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const env = { DATABASE_URL: url, SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '6000' };
    const commands = [
      ...steps.map(([, command]) => command),
      ...[...commonActions, ...actionsOf(1, 'one')].map(({ command }) => command),
    ];
    expect(commands).toHaveLength(10);
    for (const command of commands) {
      const [npx, program, ...words] = command.split(' ');
      expect([npx, program]).toEqual(['npx', 'tidemark']);
      const { exitCode, stderr } = await tidemark(words, env);
      expect([command, exitCode, stderr]).toEqual([command, 0, stderr]);
    }
  },
  processesMs,
);
