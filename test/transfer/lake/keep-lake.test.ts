import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { keepLake } from '../../../transfer/lake/keep-lake.ts';
import { createTestClock } from '../../parts/test-clock.ts';
import { emptyDirectory } from '../../scripts/command.ts';
import { commitPoints } from '../../store/committing.ts';
import { openOwnStore } from '../../store/open-store.ts';

const series = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' } as const;
const [january, february, march] = [0, 1, 2].map((month) => Date.UTC(2024, month)) as [number, number, number];

it('writes the lake of the watch list when it is due, in the directory that the file names', async () => {
  const { database } = await openOwnStore();
  const { seriesId } = await trackSeries(database, series, january, null);
  await commitPoints(database, { seriesId, series, window: { startMs: january, endMs: february } });
  const directory = emptyDirectory();
  const file = join(directory, 'tidemark.yaml');
  const lines: Array<{ msg: string; cause?: string }> = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const clock = createTestClock(march);
  const keeper = keepLake({ database, file, log, clock });
  onTestFinished(() => keeper.close());
  const write = (name: string, more = '') =>
    writeFileSync(file, `lake: { directory: ${JSON.stringify(join(directory, name))}, every: 1h${more} }`);
  const rows = (name: string) => {
    const path = join(directory, name, 'manifest.json');
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')).series[0]?.rows ?? null) : null;
  };

  const lookEveryMs = 5000;
  /** Lets the keeper look at the file once, that much later. */
  async function look(laterMs = lookEveryMs): Promise<void> {
    await clock.waiting();
    clock.jump(clock.now() + laterMs - lookEveryMs);
    await clock.advance(lookEveryMs);
    await clock.waiting();
  }

  write('first');
  await look();
  expect(rows('first')).toBe(31);
  await commitPoints(database, { seriesId, series, window: { startMs: february, endMs: march } });
  write('second', ', decimals: text');
  await look();
  expect(rows('second')).toBe(60);
  expect(rows('first')).toBe(31);
  write('first');
  await look();
  expect(rows('first')).toBe(60);
  // It is not due before an hour has passed.
  await commitPoints(database, { seriesId, series, window: { startMs: march, endMs: march + 24 * hourMs } });
  await look(hourMs - 1);
  expect(rows('first')).toBe(60);
  write('first', ', decimals: 3');
  await look(1);
  expect(lines.at(-1)).toMatchObject({ msg: 'the lake could not be written' });
  expect(lines.at(-1)?.cause).toContain('has decimals 20');
  write('first');
  await look(minuteMs - 1);
  expect(rows('first')).toBe(60);
  await look(1);
  expect(rows('first')).toBe(61);
});
