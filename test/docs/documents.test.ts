/** docs/json/ is generated from the schemas of the documents by `npm run docs`. */

import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
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
