import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { aboutEmbedded, errorTable, TidemarkError } from '../errors.ts';

it('the remedy for an embedded database that does not answer names it, and not DATABASE_URL', () => {
  const error = aboutEmbedded(new TidemarkError('DATABASE_UNREACHABLE', 'timeout'), '.tidemark');
  expect(error).toMatchObject({ message: 'timeout', remedy: expect.stringContaining('in .tidemark: ') });
  const target = new TidemarkError('DATABASE_UNREACHABLE', 'the target: timeout', { remedy: 'check --to' });
  expect(aboutEmbedded(target, '.tidemark')).toBe(target);
});

it('docs/errors.md explains every code, with its exit status', () => {
  const page = readFileSync('docs/errors.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)].map(([, code, exit]) => [code, Number(exit)]);
  const expected = Object.entries(errorTable).map(([code, entry]) => [code, entry.exit]);
  expect(rows.sort()).toEqual([...expected, ['UNEXPECTED', 1]].sort());
});
