/**
 * Runs a property over a number of cases, or in the long set for a time. Each prints its first seed, and a failure
 * prints how to repeat exactly that case.
 *
 *   TEST_SOAK=1              tries new cases for minutes
 *   TEST_SEED, TEST_PATH     the seed, and the path to one case, as a failure prints them
 *   TEST_REPLAY_PATH         for a sequence of commands: selects the commands of that case to run
 */

import fc from 'fast-check';
import { isSoak, seedNumber } from './seed.ts';

const soakMs = 300_000;
/** The time limit for shrinking a failing case. */
const shrinkMs = 60_000;

/** For `fc.commands`. */
export const replayed = process.env.TEST_REPLAY_PATH === undefined ? {} : { replayPath: process.env.TEST_REPLAY_PATH };

/** For a test of one such property: a limit for what hangs. */
export const seededTimeoutMs = 2 * soakMs + 2 * shrinkMs;

/**
 * Checks a property in batches, each with the next seed; the long set goes on until its time is over.
 *
 * @param trials.share of the usual time of the long set.
 */
export async function tryCases<Case>(
  title: string,
  arbitrary: fc.Arbitrary<Case>,
  holds: (tried: Case) => Promise<void>,
  { batch, batches, share = 1 }: { batch: number; batches: number; share?: number },
): Promise<number> {
  const first = seedNumber(title);
  const path = process.env.TEST_PATH;
  const isReplay = path !== undefined;
  const endMs = Date.now() + soakMs * share;
  let failedMs: number | null = null;
  const property = fc.asyncProperty(arbitrary, async (tried) => {
    // A case that is skipped counts as passed, so the smallest case so far is the result.
    if (failedMs !== null && Date.now() - failedMs > shrinkMs) return;
    try {
      await holds(tried);
    } catch (error) {
      failedMs ??= Date.now();
      throw error;
    }
  });
  let cases = 0;
  for (let seed = first; ; seed += 1) {
    const details = await fc.check(property, {
      seed,
      numRuns: batch,
      ...(isReplay ? { path, endOnFailure: true } : {}),
    });
    cases += details.numRuns;
    if (details.failed) throw await failure(title, details);
    if (isReplay || (isSoak ? Date.now() >= endMs : seed - first + 1 >= batches)) break;
  }
  console.info(`${title}: ${cases} cases from seed ${first} on`);
  return cases;
}

async function failure<Case>(title: string, details: fc.RunDetails<[Case]>): Promise<Error> {
  const report = (await fc.asyncDefaultReportMessage(details)) ?? '';
  const commands = /replayPath="([^"]+)"/.exec(report)?.[1];
  const how = [
    `TEST_SEED=${details.seed}`,
    `TEST_PATH=${details.counterexamplePath}`,
    ...(commands === undefined ? [] : [`TEST_REPLAY_PATH=${commands}`]),
  ];
  const why = details.errorInstance instanceof Error ? details.errorInstance.message : '';
  return new Error(`${title}: repeat with ${how.join(' ')}\n${report}\n${why}`, { cause: details.errorInstance });
}
