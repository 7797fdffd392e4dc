import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const text = readFileSync('docs/guarantees.md', 'utf8');
const named = [...text.matchAll(/^- `(test\/[^`]+)`: (.+)$/gm)].map(([, file = '', title = '']) => ({ file, title }));

it('docs/guarantees.md names only tests that exist', () => {
  expect(named.length).toBeGreaterThan(40);
  const missing = named.filter(({ file, title }) => {
    const source = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return !['"', "'", '`'].some((quote) => source.includes(`${quote}${title}${quote}`));
  });
  expect(missing).toEqual([]);
});

it('docs/guarantees.md has a test for each of its guarantees', () => {
  const sections = text.split(/^##+ /m).slice(1);
  const bare = sections.filter((section) => !/^- `test\//m.test(section)).map((section) => section.split('\n')[0]);
  // The last section describes how to find more.
  expect(bare).toEqual(['To break it yourself']);
});
