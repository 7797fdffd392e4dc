/**
 * Tests that leave to chance when and where a fault strikes. Each prints the seed that it draws from, and a failure
 * tells how to replay it: with TEST_SEED. What processes and servers do meanwhile is theirs: a replay draws the same
 * faults, and may meet them at other moments.
 */

import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'vitest';
import { streamKey, uniformAt } from '../../simulator/hash.ts';

export interface Chance {
  /** For what draws by itself, such as the simulator. */
  readonly seed: string;
  /** A whole number, the ends included. */
  whole(least: number, most: number): number;
  happens(share: number): boolean;
  oneOf<Choice>(choices: readonly Choice[]): Choice;
}

/** A limit for what hangs. */
const longestMs = 240_000;

/** A test that draws from a seed of its own, or from TEST_SEED. */
export function seededTest(
  title: string,
  body: (chance: Chance, context: TestContext) => Promise<void>,
  timeoutMs = longestMs,
): void {
  test(title, { timeout: timeoutMs }, async (context) => {
    const seed = process.env.TEST_SEED || randomBytes(4).toString('hex');
    console.log(`seed ${seed}: ${context.task.fullTestName}`);
    try {
      await body(chanceOf(seed), context);
    } catch (error) {
      if (error instanceof Error) error.message += `\n(seed ${seed}: replay with TEST_SEED=${seed})`;
      throw error;
    }
  });
}

function chanceOf(seed: string): Chance {
  const key = streamKey(seed, 'test');
  let drawn = 0;
  const uniform = () => uniformAt(key, drawn++);
  const whole = (least: number, most: number) => least + Math.floor(uniform() * (most - least + 1));
  return {
    seed,
    whole,
    happens: (share) => uniform() < share,
    oneOf(choices) {
      const choice = choices[whole(0, choices.length - 1)];
      if (choice === undefined) throw new Error('nothing to choose from');
      return choice;
    },
  };
}
