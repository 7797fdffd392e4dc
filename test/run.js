// Runs sets of tests, each as one run of Vitest, and says at the end what they took: `node test/run.js SET ...`.
//
// A file that failed runs once more, alone, when everything else has ended. If it passes then, the set passes, and the last
// lines name its tests as unsteady: those are mended before any other work. Tests that failed for good are named there too,
// each with the first line of why. Files whose rare failure would be a rare loss of data are never run twice.
//
// test-report/SET.json has the time of each file.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const folder = 'test-report';
const neverTwice = ['test/trials/', 'test/fuzz/', 'test/hostile/', 'test/store/commit/'];
/** A file that takes longer is named. */
const longSeconds = 20;

const sets = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
let hasFailed = false;
const last = [];
const again = [];

for (const set of sets) {
  const { report, code } = run(set, ['--mode', set]);
  if (code === 0) continue;
  const failed = report?.files.filter((file) => file.failed.length > 0) ?? [];
  const isExplained = report !== null && report.unhandled === 0 && failed.length > 0;
  if (!isExplained || failed.some(({ file }) => neverTwice.some((start) => file.startsWith(start)))) {
    hasFailed = true;
    last.push(...linesOf('failed', failed));
    if (!isExplained) last.push(`failed: ${set}, ${report?.unhandled ?? 'an unknown number of'} errors outside tests`);
    continue;
  }
  again.push(...failed);
}

for (const { file, failed } of again) {
  process.stdout.write(`\n${file} failed and runs once more, alone.\n`);
  const { code } = run('again', [file]);
  if (code !== 0) hasFailed = true;
  last.push(...linesOf(code === 0 ? 'unsteady' : 'failed', [{ file, failed }]));
}
for (const line of last) process.stdout.write(`${line}\n`);
// A run of several commands prints them together.
if (process.env.TEST_LAST_LINES && last.length > 0) appendFileSync(process.env.TEST_LAST_LINES, `${last.join('\n')}\n`);
process.exitCode = hasFailed ? 1 : 0;

function linesOf(word, files) {
  return files.flatMap(({ file, failed }) => failed.map((title) => `${word}: ${file} > ${title}`));
}

/** Runs Vitest once. Without a report it ended before its time. */
function run(name, words) {
  const file = join(folder, `${name}.json`);
  rmSync(file, { force: true });
  const before = processorSeconds();
  const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...words], {
    stdio: 'inherit',
    env: { ...process.env, TEST_REPORT: file },
  });
  const report = read(file);
  const lines = (report?.files ?? [])
    .filter(({ seconds }) => seconds > longSeconds)
    .map(({ file, seconds }) => `Longer than ${longSeconds} s: ${file}, ${seconds} s`);
  const after = processorSeconds();
  if (before !== null && after !== null)
    lines.push(
      `Processor time of ${name}: ${Math.round(after - before)} s (user and system, with every process it started)`,
    );
  if (report === null) lines.push(`${name} ended without a report`);
  process.stdout.write(`${lines.join('\n')}\n`);
  return { report, code: status ?? 1 };
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Of all processes that this one has started and that have ended. @returns null where the system does not tell. */
function processorSeconds() {
  try {
    // The name of the program, in parentheses, may contain spaces.
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    const ticksPerSecond = 100;
    return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
  } catch {
    return null;
  }
}
