/**
 * Runs property tests for a time instead of a number of cases. Each prints its first seed, and a failure prints how to
 * repeat exactly that case.
 *
 *   TEST_SOAK=1              runs for minutes instead of seconds
 *   TEST_SEED, TEST_PATH     the seed, and the path to one case, as a failure prints them
 *   TEST_REPLAY_PATH         for a sequence of commands: selects the commands of that case to run
 */

import fc from 'fast-check';

const quickMs = 10_000;
const soakMs = 300_000;
/** The time limit for shrinking a failing case. */
const shrinkMs = 60_000;

const isSoak = process.env.TEST_SOAK === '1';

/** For `fc.commands`. */
export const replayed =
  process.env.TEST_REPLAY_PATH === undefined ? {} : { replayPath: process.env.TEST_REPLAY_PATH };

/** For a test of one such property. */
export const seededTimeoutMs = 2 * (isSoak ? soakMs : quickMs) + 2 * shrinkMs;

/**
 * Checks a property in batches, each with a seed of its own, until the time is over.
 *
 * @param holds throws when the property does not hold.
 * @param share the share of the usual time.
 * @returns the number of cases.
 * @throws Error with the smallest failing case, and how to repeat it.
 */
export async function tryWhile<Case>(
  title: string,
  arbitrary: fc.Arbitrary<Case>,
  holds: (tried: Case) => Promise<void>,
  { batch, share = 1 }: { batch: number; share?: number },
): Promise<number> {
  const first = firstSeed(process.env.TEST_SEED);
  const path = process.env.TEST_PATH;
  const isReplay = path !== undefined;
  const endMs = Date.now() + (isSoak ? soakMs : quickMs) * share;
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
    if (isReplay || Date.now() >= endMs) break;
  }
  console.info(`${title}: ${cases} cases from seed ${first} on`);
  return cases;
}

/** Other tests accept words as seeds. This one converts them to a number. */
function firstSeed(given: string | undefined): number {
  if (given === undefined || given === '') return Math.floor(Math.random() * 2 ** 30);
  return /^\d{1,10}$/.test(given) ? Number(given) : Number.parseInt(given, 36) % 2 ** 30 || 0;
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
  return new Error(`${title}: repeat with ${how.join(' ')}\n${report}\n${why}`, {
    cause: details.errorInstance,
  });
}
