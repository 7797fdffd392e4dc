/** The schema and API of a new store, as stored text: a review sees every change. `--update` writes them. */

import { expect, it } from 'vitest';
import { describeNeeding } from '../parts/describe-needing.ts';
import { openOwnStore } from '../store/open-store.ts';
import { readCatalogue } from './catalogue.ts';

const ofNewStore = async (on: 'main' | 'plain') => readCatalogue((await openOwnStore(on)).database);

describeNeeding('plainPostgres', 'a new store without TimescaleDB', () => {
  it('has the catalogue of catalogue.txt', async () => {
    await expect(`${(await ofNewStore('plain')).join('\n')}\n`).toMatchFileSnapshot('catalogue.txt');
  });

  describeNeeding('timescale', 'and one with it', () => {
    it('differs as catalogue-timescale.txt says', async () => {
      const [plain, timescale] = [await ofNewStore('plain'), await ofNewStore('main')];
      const without = plain.filter((line) => !timescale.includes(line)).map((line) => `- ${line}`);
      const added = timescale.filter((line) => !plain.includes(line)).map((line) => `+ ${line}`);
      await expect(`${[...without, ...added].join('\n')}\n`).toMatchFileSnapshot('catalogue-timescale.txt');
    });
  });
});
