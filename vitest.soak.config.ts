import { defineConfig } from 'vitest/config';
import { PartsReporter } from './test/parts/parts-reporter.ts';

/**
 * The long set: fault tests with many more faults, and those that try for a time, for longer. `--mode month`: the
 * month, which measures, with nothing beside it.
 */
export default defineConfig(({ mode }) => ({
  test: {
    environment: 'node',
    include:
      mode === 'month'
        ? ['test/month/month.soak.ts']
        : [
            'test/{faults,dashboard,queue}/**/*.soak.ts',
            'test/{trials,fuzz,faults}/**/*.test.ts',
            // Their trials are random as well.
            'test/{files,model,planning,sources,v2,watch-list}/**/*.test.ts',
            'test/pipeline/{caps,nothing-lost}.test.ts',
            'test/store/commit/binary-copy.test.ts',
          ],
    env: { TEST_SOAK: '1' },
    globalSetup: ['./test/parts/global-setup.ts'],
    setupFiles: ['./test/parts/fix-seeds.ts'],
    reporters: ['verbose', new PartsReporter()],
    pool: 'forks',
    maxWorkers: 2,
    // Limits for what hangs; no test measures time.
    testTimeout: 1_800_000,
    hookTimeout: 60_000,
    teardownTimeout: 60_000,
  },
}));
