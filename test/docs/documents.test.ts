/** `npm run docs` generates docs/json/ from the schemas of the documents, and a table of columns in docs/export.md. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { requestsAt } from '../../dashboard/actions.ts';
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

it('docs/dashboard.md has the fields of each action, and no other', () => {
  const [, table = ''] = readFileSync('docs/dashboard.md', 'utf8').split('| action | fields |');
  const rows = table.slice(0, table.indexOf('\n\n')).matchAll(/^\| (`[^|]+) \| ([^|]*) \| [^|]+ \|$/gm);
  const codes = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, code = '']) => code);
  const written = [...rows].flatMap(([, actions = '', fields = '']) =>
    codes(actions).map((action) => [action, codes(fields).sort()] as const),
  );
  const taken = Object.entries(requestsAt({ now: () => 0 })).map(
    ([action, schema]) => [action, fieldsOf(z.toJSONSchema(schema, { io: 'input' })).sort()] as const,
  );
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(taken));
});

function fieldsOf({ properties = {}, anyOf = [], oneOf = [] }: z.core.JSONSchema.BaseSchema): string[] {
  return [...new Set([...Object.keys(properties), ...[...anyOf, ...oneOf].flatMap(fieldsOf)])];
}
