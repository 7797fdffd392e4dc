import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readConfig } from '../../config.ts';
import { demoQueries } from '../../scripts/demo-queries.ts';

const readme = readFileSync('README.md', 'utf8');

it('README lists every variable of .env.example', () => {
  const variables = [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=/gm)].map(
    ([, name]) => name,
  );
  const table = readme.slice(readme.indexOf('## Configuration'));
  for (const name of variables) expect(table).toContain(`\`${name}\``);
  expect(readConfig({}).worker.concurrency).toBe(32);
});

it('README shows the SQL that the demo runs', () => {
  for (const { sql } of demoQueries) expect(readme).toContain(sql);
});
