import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readConfig } from '../../config.ts';
import { limiterFor } from '../../planning/budget.ts';
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

it('README says how much of a budget the spacing leaves', () => {
  const used = (perMinute: number) => Math.floor(60_000 / (limiterFor(perMinute)?.durationMs ?? 0));
  expect(readme).toContain(
    `of 500 a minute ${used(500)} are used, of 5,000 only ${used(5000).toLocaleString('en-US')}`,
  );
});

it('README shows the SQL that the demo runs', () => {
  for (const { sql } of demoQueries) expect(readme).toContain(sql);
});
