import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('%s names only files and folders that exist', (page) => {
  const named = [...readFileSync(page, 'utf8').matchAll(/`([a-z][\w./-]*(?:\/|\.(?:ts|md|yml|json)))`/g)].map(
    ([, path = '']) => path,
  );
  expect(named.length).toBeGreaterThan(3);
  // A file of the user, and what a run of the tests writes.
  const made = ['tidemark.yaml', 'test-report/'];
  expect(named.filter((path) => !made.includes(path) && !existsSync(path))).toEqual([]);
});
