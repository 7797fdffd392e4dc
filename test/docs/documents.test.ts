/** `npm run docs` generates docs/json/ from the schemas of the documents, and a table of columns in docs/export.md. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { columnsOf, layouts } from '../../files/layout.ts';
import { datasetNames, datasets } from '../../model/datasets/index.ts';
import { documents } from '../../scripts/output/documents.ts';

it.each(Object.entries(documents))('docs/json/%s.schema.json is the schema of the document', async (name, schema) => {
  const written = z.toJSONSchema(schema);
  expect(written.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
  await expect(`${JSON.stringify(written, null, 2)}\n`).toMatchFileSnapshot(`../../docs/json/${name}.schema.json`);
});

it('docs/json/ has no other file', () => {
  const names = readdirSync('docs/json');
  expect(names.sort()).toEqual(
    Object.keys(documents)
      .map((name) => `${name}.schema.json`)
      .sort(),
  );
});

it('docs/export.md has the columns of each dataset, and which of them may be empty', async () => {
  const code = (names: readonly string[]) => (names.length === 0 ? '' : `\`${names.join(', ')}\``);
  const rows = [...datasetNames, 'rates' as const].map((name) => {
    const word = name === 'rates' ? name : datasets[name].word;
    return `| ${word} | ${code(columnsOf(layouts[name]))} | ${code(layouts[name].optional)} |\n`;
  });
  const page = readFileSync('docs/export.md', 'utf8');
  const [head = '', tail = ''] = page.split(/(?<=\| \| columns \|.*\n\|[-|]+\n)(?:\|.*\n)+/);
  await expect(`${head}${rows.join('')}${tail}`).toMatchFileSnapshot('../../docs/export.md');
});
