/** Lakes in an object storage, which s3rver is. */

import { expect, it, onTestFinished, vi } from 'vitest';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import { openStorage } from '../../../transfer/lake/storage/open.ts';
import { describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { type S3Server, startS3Server, withConditions } from '../../parts/s3-server.ts';
import { commitPoints } from '../../store/committing.ts';
import { openOwnStore as openStore } from '../../store/open-store.ts';
import { days, digits, february, fill, fillBoth, january, march, write } from './filled-lake.ts';

const place = 's3://tides/some/lake';

/** The client takes its settings from the environment, as every tool of AWS. */
function use({ env }: S3Server): void {
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
}

async function pathsIn(where: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of (await openStorage(where)).list('')) paths.push(path);
  return paths.sort();
}

const readText = async (path: string) => (await (await openStorage(place)).read(path))?.toString() ?? '';

describeNeedingDuckdb('a lake in an object storage', () => {
  it('has the files of one in a directory, and is written again only where something changes', async () => {
    use(await startS3Server());
    const store = await openStore();
    const hour = await fillBoth(store);
    expect(await write(store, `${place}/`)).toMatchObject({ written: 14, files: 14 });
    const paths = await pathsIn(place);
    expect(paths).toHaveLength(15);
    expect(paths).toContain('dataset=candles/exchange=binance/interval=h1/year=2024/month=1/bitcoin_tether.parquet');
    expect(await pathsIn('s3://tides')).toEqual(paths.map((path) => `some/lake/${path}`));
    expect(await write(store, place)).toMatchObject({ written: 0, files: 14 });
    await commitPoints(store.database, {
      ...hour,
      window: { startMs: february, endMs: february + dayMs },
      changed: new Map([...digits, [february + 5 * hourMs, '7.0']]),
    });
    expect(await write(store, place)).toMatchObject({ written: 1, files: 14 });
    // One that somebody has damaged, and one that somebody has removed.
    const storage = await openStorage(place);
    const [first = '', second = ''] = paths;
    await storage.write(first, Buffer.from('x'));
    await storage.remove(second);
    expect(await write(store, place, { check: true })).toMatchObject({ written: 2 });
    expect(await pathsIn(place)).toEqual(paths);
    await storage.remove('manifest.json');
    await expect(write(store, place)).rejects.toMatchObject({
      code: 'FILE_NOT_USABLE',
      message: `${place} has files of a lake, and no manifest.json`,
    });
  });

  it('commits tables of Iceberg by conditional writes', async () => {
    use(await withConditions(await startS3Server()));
    const store = await openStore();
    await fillBoth(store);
    expect(await write(store, place, { iceberg: true })).toMatchObject({ written: 14 });
    await fill(store, days, { startMs: Date.UTC(2025, 0), endMs: Date.UTC(2025, 1) });
    expect(await write(store, place)).toMatchObject({ written: 1 });
    expect(await readText('asset_history/metadata/version-hint.text')).toBe('2');
    const metadata = JSON.parse(await readText('asset_history/metadata/v2.metadata.json'));
    expect(metadata).toMatchObject({ location: `${place}/asset_history`, 'current-snapshot-id': 2 });
    expect(metadata.snapshots[1]['manifest-list']).toMatch(
      /^s3:\/\/tides\/some\/lake\/asset_history\/metadata\/snap-2-/,
    );
    // Of several writers of a name one succeeds.
    const storage = await openStorage(place);
    const created = await Promise.all([1, 2, 3].map((nth) => storage.create('one', Buffer.from(`${nth}`))));
    expect(created.filter((isFirst) => isFirst)).toHaveLength(1);
    expect(await readText('one')).toBe(String(created.indexOf(true) + 1));
  });

  it('refuses a storage that does not know conditional writes, a bucket that is not there, and another key', async () => {
    const server = await startS3Server();
    use(server);
    const store = await openStore();
    await fill(store, days, { startMs: january, endMs: march });
    await expect(write(store, place, { iceberg: true })).rejects.toMatchObject({
      code: 'FILE_NOT_WRITTEN',
      message: `${place} replaces a file in spite of If-None-Match`,
    });
    await expect(write(store, 's3://others/lake')).rejects.toMatchObject({
      code: 'FILE_NOT_USABLE',
      message: expect.stringMatching(/^s3:\/\/others\/lake\/manifest\.json: NoSuchBucket /),
    });
    await expect(write(store, 's3:///lake')).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'another');
    await expect(write(store, 's3://tides/other')).rejects.toMatchObject({
      message: expect.stringContaining('InvalidAccessKeyId'),
    });
  });
});
