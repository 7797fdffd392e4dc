import { defineConfig } from 'vitest/config';
import { PartsReporter } from './test/parts/parts-reporter.ts';

/**
 * The last part of `npm run test:slow`, one by one with nothing beside it: two cores are few for ten containers' health
 * checks.
 */
const containers = ['test/deploy/compose.test.ts', 'test/deploy/rolling-restart.test.ts'];
/**
 * Faults, hostile sources, random trials, simulated exchanges, upgrades, and commands that run for long: the first part
 * of `npm run test:slow`.
 */
const slow = [
  'test/{faults,fuzz,hostile,trials}/**/*.test.ts',
  'test/deploy/package.test.ts',
  'test/docs/{backup,examples,notebooks,source-behaviours}.test.ts',
  'test/files/parquet/memory.test.ts',
  'test/pipeline/caps.test.ts',
  'test/queue/{cluster,outage}.test.ts',
  'test/scripts/**/{*-trouble,backfill-{archive,outcome,source},demo,full-disk,move,phases,watch}.test.ts',
  'test/scripts/commands/{serve,serve-replica,sources,verify-against}.test.ts',
  'test/dashboard/{actions,browser/{actions,every-view}}.test.ts',
  'test/service/stored/hostile.test.ts',
  'test/schema/upgrade.test.ts',
  'test/embedded/{crash,refusal,sharing}.test.ts',
];
/** Rules, formats, the source's client, workers and commits, without processes and browsers: `npm run test:quick`. */
const quick = [
  'test/*.test.ts',
  'test/{files,metrics,model,planning,settings,sources,v2,watch-list,workers}/**/*.test.ts',
  'test/store/{commit,db}/**/*.test.ts',
];

/** Sets of tests, by `--mode`: `main` is `npm test`. Without a mode every test can be named. */
const sets: Readonly<Record<string, { readonly include: string[]; readonly exclude: string[] }>> = {
  main: { include: ['test/**/*.test.ts'], exclude: [...slow, ...containers] },
  slow: { include: slow, exclude: [] },
  containers: { include: containers, exclude: [] },
  quick: { include: quick, exclude: [...slow, ...containers] },
};

export default defineConfig(({ mode }) => ({
  test: {
    environment: 'node',
    ...(sets[mode] ?? { include: ['test/**/*.test.ts'] }),
    globalSetup: ['./test/parts/global-setup.ts'],
    setupFiles: ['./test/parts/fix-seeds.ts'],
    // The last one prints the last lines.
    reporters: ['default', new PartsReporter()],
    pool: 'forks',
    // Files share the modules of their process: importing them for each file took half of the time. No test changes a
    // module's state or the environment of the process without putting it back.
    isolate: false,
    restoreMocks: true,
    // For two cores: a test waits half of its time.
    maxWorkers: 4,
    fileParallelism: mode !== 'containers',
    // Limits for what hangs; no test measures time.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 600_000,
    expect: { poll: { timeout: 150_000 } },
  },
}));
