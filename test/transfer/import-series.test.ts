import { expect, it } from 'vitest';
import { systemClock } from '../../clock.ts';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { SeriesImport } from '../../transfer/import-series.ts';
import { bitcoinHours } from '../queue/queue-parts.ts';
import { onEachDatabase, openOwnStore } from '../store/open-store.ts';

const series: SeriesKey = { ...bitcoinHours, interval: 'm1' };
const startMs = Date.UTC(2020, 0, 1);
const range = { startMs, endMs: startMs + 30 * dayMs };
const stated = {
  range,
  points: 30 * 1440,
  covered: [range],
  confirmedEmpty: [],
  beforeBeginning: [],
  trackToMs: range.endMs,
};

function body(on: 'main' | 'plain') {
  it.each([
    ['claims the coverage of stored points', false],
    ['claims no coverage when retention has dropped the first points meanwhile', true],
  ])('%s', async (_, isDropped) => {
    const { database } = await openOwnStore(on);
    const imported = new SeriesImport(
      {
        clock: systemClock,
        path: 'a.csv',
        database,
        overwrite: false,
        graceMs: 0,
        beforePiece: () => {},
        onStored: () => {},
      },
      series,
      stated,
    );
    // The first piece is stored before the end.
    for (let timeMs = startMs; timeMs < range.endMs; timeMs += minuteMs)
      await imported.add({
        names: ['binance', 'bitcoin', 'tether', 'm1'],
        time: timeMs,
        values: ['1.0', '1.0', '1.0', '1.0', '1.0'],
        place: 'line 1',
      });
    await imported.settle();
    if (isDropped) await database.pool.query(`delete from tidemark.candle_points where time < '2020-01-01 06:00Z'`);
    const ended = imported.end();
    if (isDropped)
      await expect(ended).rejects.toMatchObject({
        code: 'FILE_NOT_USABLE',
        message: expect.stringContaining('were deleted while the file was imported'),
      });
    else await ended;
    const known = await database.pool.query('select isempty(covered) as empty from tidemark.series');
    expect(known.rows).toEqual([{ empty: isDropped }]);
  });
}

onEachDatabase('SeriesImport', body);
