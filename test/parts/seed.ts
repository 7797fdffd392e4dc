/**
 * The seeds of random trials. A run of `npm test` or of the slow set always draws the same; the long set (TEST_SOAK=1)
 * draws new ones. TEST_SEED sets one, as a failure prints it.
 */

import { createHash, randomBytes } from 'node:crypto';

export const isSoak = process.env.TEST_SOAK === '1';

/** Eight hexadecimal digits, or TEST_SEED. */
export function seedText(title: string): string {
  if (process.env.TEST_SEED) return process.env.TEST_SEED;
  return isSoak ? randomBytes(4).toString('hex') : createHash('sha256').update(title).digest('hex').slice(0, 8);
}

/** The same as a whole number below 2^31. Digits of TEST_SEED are that number. */
export function seedNumber(title: string): number {
  const given = process.env.TEST_SEED ?? '';
  if (/^\d{1,10}$/.test(given)) return Number(given);
  const text = seedText(title);
  return (
    Number.parseInt(
      /^[\da-f]{8}$/.test(text) ? text : createHash('sha256').update(text).digest('hex').slice(0, 8),
      16,
    ) >>> 1
  );
}
