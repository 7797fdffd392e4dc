/** Groups of tests that need a part which some machines lack. */

import { describe, inject } from 'vitest';
import type { ProvidedParts } from './provided.ts';

type Part = keyof ProvidedParts['absent'];

const names: Readonly<Record<Part, string>> = {
  timescale: 'TimescaleDB',
  plainPostgres: 'PostgreSQL without TimescaleDB',
  redis: 'Redis',
  chromium: 'a browser',
};

/**
 * Like `describe`, but skipped when the part is absent. The group's name then gives the reason, and the report repeats
 * it.
 */
export function describeNeeding(part: Part, title: string, body: () => void): void {
  const why = inject('absent')[part];
  if (why === '') describe(title, body);
  else describeMissing(title, `needs ${names[part]}: ${why}`, body);
}

/** A skipped group whose name gives the reason. */
export function describeMissing(title: string, why: string, body: () => void): void {
  describe.skip(`${title} (skipped: ${why})`, body);
}
