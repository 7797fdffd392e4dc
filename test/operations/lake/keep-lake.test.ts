import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { hourMs } from '../../../contract/intervals.ts';
import { keepLake } from '../../../operations/lake/keep-lake.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { emptyDirectory } from '../../scripts/command.ts';
import { commitPoints } from '../../store/committing.ts';
import { openTestStore } from '../../store/open-store.ts';

const series = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' } as const;
const [january, february, march] = [0, 1, 2].map((month) => Date.UTC(2024, month)) as [
  number,
  number,
  number,
];

it('writes the lake of the watch list when it is due, in the directory that the file names', async () => {
  const store = await openTestStore();
  onTestFinished(() => store.close());
  const { database } = store;
  const { seriesId } = await trackSeries(database, series, january, null);
  await commitPoints(database, { seriesId, series, window: { startMs: january, endMs: february } });
  const directory = emptyDirectory();
  const file = join(directory, 'tidemark.yaml');
  const lines: Array<{ msg: string; cause?: string }> = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let nowMs = march;
  const keeper = keepLake({
    database,
    file,
    chunkDays: { candles: 30, asset_history: 360, rates: 30 },
    log,
    now: () => nowMs,
    everyMs: 10,
  });
  onTestFinished(() => keeper.close());
  const write = (name: string, more = '') =>
    writeFileSync(file, `lake: { directory: ${JSON.stringify(join(directory, name))}, every: 1h${more} }`);
  const rows = (name: string) => {
    const path = join(directory, name, 'manifest.json');
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')).series[0]?.rows ?? null) : null;
  };

  write('first');
  await waitFor('the lake', () => rows('first') === 31);
  await commitPoints(database, { seriesId, series, window: { startMs: february, endMs: march } });
  write('second', ', decimals: text');
  await waitFor('the lake in its new directory', () => rows('second') === 60);
  expect(rows('first')).toBe(31);
  write('first');
  await waitFor('the first lake again', () => rows('first') === 60);
  // It is not due before an hour has passed.
  await commitPoints(database, {
    seriesId,
    series,
    window: { startMs: march, endMs: march + 24 * hourMs },
  });
  nowMs += hourMs - 1;
  await delay(100);
  expect(rows('first')).toBe(60);
  // A look under way has perhaps read the file already: it sees the hour before the time moves.
  write('first', ', decimals: 3');
  await delay(100);
  nowMs += 1;
  await waitFor('the other format to be refused', () => {
    nowMs += hourMs;
    return lines.some(({ msg }) => msg === 'the lake could not be written');
  });
  expect(lines.at(-1)?.cause).toContain('has decimals 20');
  write('first');
  // A look that read the other format may be under way, and pauses from the time at which it ends.
  await waitFor('the lake to be fresh', () => {
    nowMs += hourMs;
    return rows('first') === 61;
  });
});
