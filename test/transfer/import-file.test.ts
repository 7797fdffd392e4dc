import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../clock.ts';
import { fileFormats, layouts } from '../../files/layout.ts';
import { hourMs } from '../../model/intervals.ts';
import type { Database } from '../../store/db/database.ts';
import { checkFile, type FileImport, importFile } from '../../transfer/import-file.ts';
import { seriesOfRow } from '../../transfer/import-rows.ts';
import { ImportTally } from '../../transfer/import-tally.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { emptyDirectory, market, tidemark } from '../scripts/command.ts';
import { contentOf, fill, minutes, openStore, startMs } from '../scripts/commands/export-store.ts';

function importing(path: string, database: Database): FileImport {
  return {
    clock: systemClock,
    path,
    pointsOnly: false,
    overwrite: false,
    follow: false,
    ...{ database, graceMs: 0, tally: new ImportTally(), beforePiece: () => {} },
    showProgress: () => ({ update: () => {}, stop: () => {} }),
  };
}

describeNeeding('timescale', 'the import of a file', () => {
  it.each(fileFormats)('stores nothing of a %s file that was replaced after its check', async (format) => {
    const [from, to] = [await openStore('main'), await openStore('main')];
    await fill(from.database, { series: minutes, window: { startMs, endMs: startMs + hourMs } });
    const path = join(emptyDirectory(), `file.${format}`);
    const words = ['export', 'candles', ...market, '--interval', 'm1', '--out', path];
    expect(await tidemark(words, from.env)).toMatchObject({ exitCode: 0, stderr: '' });
    const options = importing(path, to.database);
    const checked = await checkFile(options);
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    await expect(importFile(options, checked)).rejects.toMatchObject({
      ...{ code: 'FILE_NOT_USABLE', message: `${path} was changed or replaced after it was checked` },
    });
    expect((await contentOf(to.database)).series).toEqual({});
  });

  it.each([
    ['funding_rates', 'q', 'a spot market has no funding rates'],
    ['candles', 'q:q-991332', 'the quote "q:q-991332" has an expiry that is no day (YYMMDD)'],
  ] as const)('takes no row of %s of a/%s', (dataset, quote, why) => {
    expect(seriesOfRow(layouts[dataset], ['x', 'a', quote, 'h1'])).toBe(why);
  });
});
