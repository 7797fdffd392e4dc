import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('%s names only files and folders that exist', (page) => {
  const named = [...readFileSync(page, 'utf8').matchAll(/`([a-z][\w./-]*(?:\/|\.(?:ts|md|yml|json)))`/g)].map(
    ([, path = '']) => path,
  );
  expect(named.length).toBeGreaterThan(3);
  // A file of the user.
  expect(named.filter((path) => path !== 'tidemark.yaml' && !existsSync(path))).toEqual([]);
});
