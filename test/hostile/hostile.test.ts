import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { processesMs } from '../scripts/command.ts';
import { type HostileSource, startHostileSource } from './hostile-source.ts';
import { misbehaviours } from './misbehaviours.ts';
import { type Outcome, prepareRun } from './run-against.ts';

/** Two days that closed long ago, in twenty windows. */
const endMs = Math.floor(Date.now() / dayMs) * dayMs - 30 * dayMs;
const range = { startMs: endMs - 2 * dayMs, endMs };

interface Outcomes {
  readonly hostile: Outcome;
  /** The result of a second `backfill`, from a source that now answers correctly. */
  readonly calm: Outcome;
}

async function outcomesOf(source: HostileSource, name: string, redisUrl: string | null): Promise<Outcomes> {
  const run = await prepareRun(source.url(name), range, redisUrl);
  try {
    const hostile = await run.backfill();
    source.calm(name);
    return { hostile, calm: await run.backfill() };
  } finally {
    await run.close();
  }
}

describe('backfill', () => {
  const redisUrl = inject('redisUrl');
  let source: HostileSource;
  beforeAll(async () => {
    source = await startHostileSource();
  });
  afterAll(() => source.close());

  // Several at once, because each mostly waits.
  it.concurrent.each(Object.entries(misbehaviours))(
    'never loses data silently when the source sends %s',
    async (name, { completes, rejects = false }) => {
      const { hostile, calm } = await outcomesOf(source, name, redisUrl);
      expect(hostile, hostile.said).toMatchObject({ silent: 0, wrong: 0 });
      expect(hostile.exitCode === 0 && hostile.missing > 0, hostile.said).toBe(false);
      if (completes) expect(hostile, hostile.said).toMatchObject({ exitCode: 0, missing: 0 });
      expect(hostile.rejected > 0).toBe(rejects);
      // Rejected rows are reported until they are repaired or accepted. Unreadable windows are deferred for minutes.
      expect(calm, calm.said).toMatchObject({ silent: 0, wrong: 0 });
      if (completes) expect(calm, calm.said).toMatchObject({ exitCode: 0, missing: 0 });
    },
    processesMs * 4,
  );
});
