import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seededTimeoutMs, tryCases } from '../parts/seeded.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../store/open-store.ts';
import { allCommands } from './commands.ts';
import { createWorld, openStore, type Real } from './world.ts';

onEachDatabase('store and planner', (kind) => {
  let store: TestStore;
  let real: Real;
  beforeAll(async () => {
    store = await openTestStore(kind);
    real = { url: store.url, database: openStore(store.url) };
  });
  afterAll(async () => {
    await real.database.close();
    await store.close();
  });

  test(
    'agree with a naive model after every command',
    async () => {
      const run = fc.record({ commands: allCommands, cap: fc.option(fc.integer({ min: 4, max: 9 }), { freq: 1 }) });
      const cases = await tryCases(
        `store and planner on ${kind}`,
        run,
        async ({ commands, cap }) => {
          const world = await createWorld(real, randomBytes(6).toString('hex'), cap);
          await fc.asyncModelRun(() => ({ model: world, real }), commands);
        },
        { batch: 3, batches: 8 },
      );
      expect(cases).toBeGreaterThan(0);
    },
    seededTimeoutMs,
  );
});
