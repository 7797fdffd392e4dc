import { defineConfig } from 'vitest/config';
import { PartsReporter } from './test/parts/parts-reporter.ts';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
    globalSetup: ['./test/parts/global-setup.ts'],
    // The last one prints the last lines.
    reporters: ['default', new PartsReporter()],
    pool: 'forks',
    // The parts are shared: more workers would only wait for them.
    maxWorkers: 2,
    // Limits for what hangs; no test measures time.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    teardownTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
