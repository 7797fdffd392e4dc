import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { limiterFor } from '../../planning/budget.ts';

it('the configuration page states the share of a budget that the spacing uses', () => {
  const used = (perMinute: number) => {
    const { max, durationMs } = limiterFor(perMinute) ?? { max: 0, durationMs: 1 };
    return Math.floor((max * 60_000) / durationMs);
  };
  expect(readFileSync('docs/configuration.md', 'utf8')).toContain(
    `of 500 a minute ${used(500)} are used, of 5,000 ${used(5000).toLocaleString('en-US')}`,
  );
});
