import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { errorTable } from '../errors.ts';

it('docs/errors.md explains every code, with its exit status', () => {
  const page = readFileSync('docs/errors.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)].map(([, code, exit]) => [
    code,
    Number(exit),
  ]);
  const expected = Object.entries(errorTable).map(([code, entry]) => [code, entry.exit]);
  expect(rows.sort()).toEqual([...expected, ['UNEXPECTED', 1]].sort());
});
