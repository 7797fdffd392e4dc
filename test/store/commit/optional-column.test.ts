/** A column that some sources lack: what it takes beside its descriptor, a place in the offer of a source. */

import { expect, onTestFinished, test, vi } from 'vitest';
import type { Column } from '../../../model/dataset.ts';
import { hourMs } from '../../../model/intervals.ts';
import type { WindowCommit } from '../../../store/commit/prepare-window.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { fillOf, rulesOf } from '../../parts/windows.ts';
import { serve } from '../../sources/local-server.ts';
import { openOwnStore } from '../open-store.ts';

const candlesFile = '../../../model/datasets/candles.ts';

/** Modules of the product as if candles had one more column. */
async function withQuoteVolume() {
  vi.resetModules();
  vi.doMock(candlesFile, async (load) => {
    const { candles } = await load<typeof import('../../../model/datasets/candles.ts')>();
    const about = 'Amount of the quote asset traded in the period.';
    const quoteVolume: Column = { name: 'quote_volume', json: 'quoteVolume', about, least: '0', isOptional: true };
    return { candles: { ...candles, columns: [...candles.columns, quoteVolume] } };
  });
  onTestFinished(() => {
    vi.doUnmock(candlesFile);
    vi.resetModules();
  });
  const { sourceAt } = await import('../../sources/local-server.ts');
  const { commitWindow } = await import('../../../store/commit/commit-windows.ts');
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
  /** The quote volumes of an answer, as JSON; undefined: it has no such field. @returns changes, rejected rows, stored values. */
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
