/**
 * The last lines of a run: the parts it used, the skipped tests with reasons, and the counts. Writes the report that
 * test/run.js reads to the file TEST_REPORT.
 */

import { writeFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule, TestSpecification, Vitest } from 'vitest/node';

export class PartsReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(modules: readonly TestSpecification[]): void {
    if (isLong(modules)) process.stdout.write('This is the long set. It takes about half an hour.\n');
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const test of tests) count[test.result().state] += 1;
    // A file that does not load, or an error outside any test, fails the run without a failed test.
    count.failed += modules.filter((module) => module.errors().length > 0).length + unhandledErrors.length;
    const provided = this.#vitest?.getRootProject().getProvidedContext();
    if (provided?.partsReport === undefined) count.failed += 1;
    const strikes = modules.some(isFaults);
    const skipped = groups(tests.filter((test) => test.result().state === 'skipped'));
    const lines = [
      ...(provided?.partsReport ?? ['The parts did not start.']),
      ...[...skipped].map(([group, size]) => `Skipped: ${group}, ${size} ${size === 1 ? 'test' : 'tests'}`),
      ...(strikes ? [faultsLine(modules)] : []),
      ...(strikes && !isLong(modules) ? ['Many more faults, for half an hour: npm run test:soak'] : []),
      ...slowest(tests),
      `Tests: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
    const file = process.env.TEST_REPORT;
    if (file) writeFileSync(file, `${JSON.stringify(reportOf(modules, unhandledErrors.length), null, 2)}\n`);
  }
}

/** The time and the failed tests of each file, the slowest first. */
function reportOf(modules: readonly TestModule[], unhandled: number) {
  const files = modules.map((module) => {
    const tests = [...module.children.allTests()];
    const failed = tests.filter((test) => test.result().state === 'failed').map(titleAndReason);
    // Such as a failed hook of the file.
    const [outside] = module.errors();
    if (failed.length === 0 && module.state() === 'failed')
      failed.push(`(outside of its tests): ${(outside?.message ?? '').split('\n')[0]}`);
    const seconds = Math.round(module.diagnostic().duration / 100) / 10;
    return { file: module.relativeModuleId, seconds, tests: tests.length, failed };
  });
  return { unhandled, files: files.sort((one, other) => other.seconds - one.seconds) };
}

/** A failed test's name, and the first line of why. */
function titleAndReason(test: TestCase): string {
  const [reason = ''] = (test.result().errors?.[0]?.message ?? '').split('\n');
  return `${test.fullName}: ${reason.slice(0, 300)}`;
}

const listed = 20;

/** The tests that took longest, of a run of several files. */
function slowest(tests: readonly TestCase[]): string[] {
  if (tests.length < 2 * listed) return [];
  const timed = tests.map((test) => ({ test, ms: test.diagnostic()?.duration ?? 0 }));
  const lines = timed
    .sort((a, b) => b.ms - a.ms)
    .slice(0, listed)
    .map(({ test, ms }) => `  ${(ms / 1000).toFixed(1)} s  ${test.module.relativeModuleId}: ${test.fullName}`);
  return [`The slowest ${listed}:`, ...lines];
}

function isFaults({ moduleId }: { readonly moduleId: string }): boolean {
  return moduleId.includes('/test/faults/');
}

/** The total duration of the fault tests, as if they ran one after the other. */
function faultsLine(modules: readonly TestModule[]): string {
  const faults = modules.filter(isFaults);
  const tests = faults.reduce((sum, module) => sum + [...module.children.allTests()].length, 0);
  const ms = faults.reduce((sum, module) => sum + module.diagnostic().duration, 0);
  return `Faults: ${tests} tests in ${Math.round(ms / 1000)} s, one after the other`;
}

/** Whether this is the long set of `npm run test:soak`. */
function isLong(modules: readonly { readonly moduleId: string }[]): boolean {
  return modules.some(({ moduleId }) => moduleId.endsWith('.soak.ts'));
}

/** Skipped tests, counted by the outermost group that gives a reason, or else by their own note. */
function groups(skipped: readonly TestCase[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const test of skipped) {
    const [, group] = /^(.*?\(skipped: .*?\))(?: > |$)/.exec(test.fullName) ?? [];
    const result = test.result();
    const note = result.state === 'skipped' && result.note ? result.note : 'no reason given';
    const key = group ?? `${test.fullName} (${note})`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
