import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeDirectory } from '../directories.ts';
import { openWholeFile } from '../files/output.ts';
import { directoryStorage } from '../transfer/lake/storage/directory.ts';

it('creates what is missing, and leaves what is there', () => {
  const directory = join(mkdtempSync(join(tmpdir(), 'tidemark-')), 'a', 'b');
  makeDirectory(directory, 0o700);
  makeDirectory(directory);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});

it.runIf(process.platform === 'linux')('ends where a directory takes no new one', async () => {
  expect(() => makeDirectory('/proc/x/y')).toThrow('ENOENT');
  await expect(directoryStorage('/proc/x').prepare()).rejects.toMatchObject({
    code: 'FILE_NOT_WRITTEN',
    remedy: 'create its directory first, or choose another path',
  });
});

it('does not advise to free the disk where a file is in the place of a directory', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'tidemark-')), 'file');
  writeFileSync(file, '');
  const refusal = {
    code: 'FILE_NOT_WRITTEN',
    remedy: 'choose another path, or remove the file that is in the place of a directory',
  };
  for (const place of [file, join(file, 'lake')])
    await expect(directoryStorage(place).prepare()).rejects.toMatchObject(refusal);
  await expect(openWholeFile(join(file, 'x.csv'))).rejects.toMatchObject(refusal);
});
