/** `tidemark lake` as a program of its own: the packages that only it loads. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startS3Server } from '../../parts/s3-server.ts';
import { emptyDirectory, tidemark } from '../command.ts';
import { fillMany, openStore } from './export-store.ts';

it('writes tables of Iceberg, a bucket, and says why it cannot', async () => {
  const points = 40 * 1440;
  const store = await openStore('main');
  await fillMany(store.database, points);
  const directory = emptyDirectory();
  const written = await tidemark(['lake', directory, '--iceberg', '--json'], store.env);
  expect(written).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(written.stdout)).toMatchObject({ directory, files: 2, allRows: points });
  const hint = join(directory, 'candles/metadata/version-hint.text');
  expect(readFileSync(hint, 'utf8')).toBe('1');

  const { env } = await startS3Server();
  const bucket = await tidemark(['lake', 's3://tides/lake'], { ...store.env, ...env });
  expect(bucket).toMatchObject({ exitCode: 0 });
  expect(bucket.stderr).not.toContain('Warning');
  expect(bucket.stdout).toMatch(
    /^wrote 2 files with 57,600 rows, .*; s3:\/\/tides\/lake has 2 files with 57,600 rows; /,
  );
  const refused = await tidemark(['lake', 's3://tides/tables', '--iceberg'], { ...store.env, ...env });
  expect(refused.exitCode).not.toBe(0);
  expect(refused.stderr).toContain('s3://tides/tables replaces a file in spite of If-None-Match; name a storage');
  const absent = { AWS_REGION: '' };
  const missing = await tidemark(['lake', 's3://tides/lake'], { ...store.env, ...env, ...absent });
  expect(missing.stderr).toMatch(/FILE_NOT_USABLE: s3:\/\/tides\/lake\/manifest\.json: .*; set AWS_REGION/);
  const gone = { ...store.env, ...env, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' };
  const away = await tidemark(['lake', 's3://tides/lake'], gone);
  expect(away.stderr).toMatch(
    /manifest\.json: connect ECONNREFUSED 127\.0\.0\.1:9; check the network, and AWS_ENDPOINT_URL/,
  );
});
