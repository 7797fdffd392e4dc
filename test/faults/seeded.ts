/**
 * Tests that choose the time and place of faults at random: always the same ones, and new ones in the long set. A
 * failure says how to replay it with TEST_SEED. A replay draws the same faults, but processes and servers may meet them
 * at other times.
 */

import { type TestContext, test } from 'vitest';
import { streamKey, uniformAt } from '../../simulator/hash.ts';
import { seedText } from '../parts/seed.ts';

export interface Chance {
  /** For components that draw by themselves, such as the simulator. */
  readonly seed: string;
  whole(least: number, most: number): number;
  happens(share: number): boolean;
  oneOf<Choice>(choices: readonly Choice[]): Choice;
}

export function seededTest(
  title: string,
  body: (chance: Chance, context: TestContext) => Promise<void>,
  options: { timeout?: number } = {},
): void {
  test(title, options, async (context) => {
    const seed = seedText(context.task.fullTestName);
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
