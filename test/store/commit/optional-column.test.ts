/** A column that some sources lack: what it takes beside its descriptor, a place in the offer of a source. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { fileFormats } from '../../../files/layout.ts';
import type { Column } from '../../../model/dataset.ts';
import { hourMs } from '../../../model/intervals.ts';
import type { WindowCommit } from '../../../store/commit/prepare-window.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { fillOf, rulesOf } from '../../parts/windows.ts';
import { emptyDirectory } from '../../scripts/command.ts';
import { serve } from '../../sources/local-server.ts';
import { openOwnStore } from '../open-store.ts';

const candlesFile = '../../../model/datasets/candles.ts';

/** Modules of the product as if candles had one more column. */
async function withQuoteVolume() {
  vi.resetModules();
  vi.doMock(candlesFile, async (load) => {
    const { candles, ...rest } = await load<typeof import('../../../model/datasets/candles.ts')>();
    const about = 'Amount of the quote asset traded in the period.';
    const quoteVolume: Column = {
      name: 'quote_volume',
      json: 'quoteVolume',
      about,
      rollup: 'sum',
      least: '0',
      isOptional: true,
    };
    return { ...rest, candles: { ...candles, columns: [...candles.columns, quoteVolume] } };
  });
  onTestFinished(() => {
    vi.doUnmock(candlesFile);
    vi.resetModules();
  });
  const { sourceAt } = await import('../../sources/local-server.ts');
  const { commitWindow } = await import('../committing.ts');
  return { sourceAt, commitWindow };
}

const startMs = Date.UTC(2024, 0, 1);
const series = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'h1' } as const;

test('keeps an optional value that another answer lacks, and counts none as a revision that was not known', async () => {
  const { sourceAt, commitWindow } = await withQuoteVolume();
  const store = await openOwnStore();
  await store.database.pool.query('alter table tidemark.candle_points add column quote_volume numeric');
  const window = { startMs, endMs: startMs + 3 * hourMs };
  const { seriesId } = await trackSeries(store.database, series, window.startMs, window.endMs);
  const nowMs = window.endMs + hourMs;
  let body = '';
  const { baseUrl } = await serve((_, response) => response.end(body));
  const source = sourceAt(baseUrl);
  /**
   * The quote volumes of an answer, as JSON; undefined: it has no such field.
   *
   * @returns changes, rejected rows, stored values.
   */
  async function commit(...quoteVolumes: Array<string | undefined>) {
    const rows = quoteVolumes.map((value, hour) => {
      const field = value === undefined ? '' : `,"quoteVolume":${value}`;
      return `{"open":"1","high":"9","low":"1","close":"2","volume":"5"${field},"period":${startMs + hour * hourMs}}`;
    });
    body = `{"data":[${rows}],"timestamp":${nowMs}}`;
    const answer = await source.points({ ...series, ...window });
    const { fresh, changed, revised } = await commitWindow(store.database, {
      window: fillOf({ seriesId, series, ...window }),
      ...{ attempt: 1, answer, nowMs, rules: rulesOf(hourMs) },
    } as WindowCommit);
    const stored = await store.database.pool.query(
      'select quote_volume::text as value from tidemark.candle_points where series_id = $1 order by time',
      [seriesId],
    );
    return [fresh, changed, revised, answer.rejected.length, ...stored.rows.map(({ value }) => value)];
  }
  expect(await commit(undefined, 'null', '"7.10"')).toEqual([3, 0, 0, 0, null, null, '7.10']);
  // As text, and as a JSON number, which is not read from the bytes.
  expect(await commit('"4.00"', undefined, '5')).toEqual([0, 2, 1, 0, '4.00', null, '5']);
  expect(await commit(undefined, undefined, 'null')).toEqual([0, 0, 0, 0, '4.00', null, '5']);
  expect(await commit('"-1"', '"6"', undefined)).toEqual([0, 1, 0, 1, '4.00', '6', '5']);
});

test('takes absent values out and in again: files of every format, and the lake', async () => {
  await withQuoteVolume();
  const { commitRows } = await import('../../scripts/commands/export-store.ts');
  const { exportTo } = await import('../../../transfer/export-files.ts');
  const { seriesExportSource } = await import('../../../transfer/export-source.ts');
  const { checkFile, importFile } = await import('../../../transfer/import-file.ts');
  const { ImportTally } = await import('../../../transfer/import-tally.ts');
  const { writeLake } = await import('../../../transfer/lake/write-lake.ts');
  const { inSnapshot } = await import('../../../transfer/queries/export-series.ts');
  const { database } = await openOwnStore();
  const { pool } = database;
  await pool.query('alter table tidemark.candle_points add column quote_volume numeric');
  const [window, nowMs] = [{ startMs, endMs: startMs + 4 * hourMs }, startMs + 5 * hourMs];
  const { seriesId } = await trackSeries(database, series, window.startMs, window.endMs);
  const quoteVolumes = [null, '7.10', null, '12345678901234.5678'];
  const candle = { open: '1', high: '9', low: '1', close: '2.50', volume: '5' };
  const rows = quoteVolumes.map((quoteVolume, hour) => ({ ...candle, quoteVolume, period: startMs + hour * hourMs }));
  await commitRows(database, { seriesId, series, window, rows, nowMs });
  const directory = emptyDirectory();
  const work = { signal: new AbortController().signal, showProgress: () => ({ update: () => {}, stop: () => {} }) };
  const paths = fileFormats.map((format) => join(directory, `candles.${format}`)) as [string, string, string];
  await inSnapshot(database, async (client) => {
    const query = {
      series: [series],
      fromMs: null,
      toMs: null,
      graceMs: 0,
      nowMs,
      allowGaps: false,
      needsDigits: true,
    };
    for (const [at, format] of fileFormats.entries())
      await exportTo(await seriesExportSource(client, query), { ...work, format, out: paths[at] ?? '' });
  });
  await writeLake(database, { ...work, directory, doubles: true, clock: systemClock });
  const month = readdirSync(directory, { recursive: true, encoding: 'utf8' }).find((name) =>
    name.endsWith('b.parquet'),
  );
  async function imported(path: string, pointsOnly = false) {
    const tally = new ImportTally();
    const asked = { path, pointsOnly, tally, database, clock: systemClock, graceMs: 0, beforePiece: () => {}, ...work };
    await importFile(asked, await checkFile(asked));
    const text = "select concat_ws(' ', close, quote_volume) as values from tidemark.candle_points order by time";
    const { fresh, unchanged, differing, refusals } = tally.asJson(1);
    const stored = (await pool.query(text)).rows.map(({ values }) => values);
    return [fresh, unchanged, differing, ...refusals.map(({ reason }) => reason), ...stored];
  }
  const all = ['2.50', '2.50 7.10', '2.50', '2.50 12345678901234.5678'];
  for (const path of [...paths, join(directory, month ?? '')]) {
    await pool.query('truncate tidemark.candle_points, tidemark.series cascade');
    expect(await imported(path, !paths.includes(path))).toEqual([4, 0, 0, ...all]);
  }
  // A file of the time before the column takes no value away. One with it adds those that the store lacks.
  const [csv, jsonl] = paths;
  const before = join(directory, 'before.csv');
  writeFileSync(before, readFileSync(csv, 'utf8').replaceAll(/,[^,\n]*$/gm, ''));
  await imported(csv);
  expect(await imported(before, true)).toEqual([0, 4, 0, ...all]);
  await pool.query('update tidemark.candle_points set quote_volume = null');
  expect(await imported(csv)).toEqual([0, 2, 0, ...all]);
  writeFileSync(jsonl, readFileSync(jsonl, 'utf8').replace('"7.10"', '7.10'));
  const reason = 'line 2: quote_volume: not a decimal as text';
  expect(await imported(jsonl, true)).toEqual([0, 3, 0, reason, ...all]);
});
