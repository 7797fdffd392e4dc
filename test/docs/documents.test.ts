/** docs/json/ is generated from the schemas of the documents by `npm run docs`. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { documents } from '../../scripts/output/documents.ts';

type Schema = { readonly [key: string]: unknown };

it.each(Object.entries(documents))(
  'docs/json/%s.schema.json is the schema of the document',
  async (name, schema) => {
    const written = z.toJSONSchema(schema);
    expect(written.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
    await expect(`${JSON.stringify(written, null, 2)}\n`).toMatchFileSnapshot(
      `../../docs/json/${name}.schema.json`,
    );
  },
);

it('docs/json/ has no other file, and every schema states its types and refuses other fields', () => {
  const names = readdirSync('docs/json');
  expect(names.sort()).toEqual(
    Object.keys(documents)
      .map((name) => `${name}.schema.json`)
      .sort(),
  );
  for (const name of names) assertStrict(JSON.parse(readFileSync(`docs/json/${name}`, 'utf8')), name);
});

function assertStrict(schema: Schema, place: string): void {
  const kinds = ['type', 'const', 'enum', 'anyOf', 'oneOf', 'allOf', '$ref'];
  expect([place, kinds.some((kind) => kind in schema)]).toEqual([place, true]);
  if (schema.type === 'object') expect([place, schema.additionalProperties]).not.toContain(undefined);
  if (schema.properties !== undefined) expect([place, schema.additionalProperties]).toEqual([place, false]);
  if (schema.type === 'array') assertStrict(schema.items as Schema, `${place}[]`);
  for (const [name, part] of Object.entries({
    ...(schema.properties ?? {}),
    ...(schema.$defs ?? {}),
  } as Record<string, Schema>))
    assertStrict(part, `${place}.${name}`);
  for (const part of ['anyOf', 'oneOf', 'allOf'].flatMap((kind) => (schema[kind] ?? []) as Schema[]))
    assertStrict(part, place);
}
