import { expect, test } from 'vitest';
import { layouts } from '../../../files/layout.ts';
import { isPoints, PageCollector } from '../../../files/point-pages.ts';
import { writeDecimal } from '../../../model/binary/numeric.ts';
import { decimalText } from '../../../model/decimal.ts';
import { hourMs } from '../../../model/intervals.ts';
import { inTransaction } from '../../../store/db/database.ts';
import { compareStored } from '../../../transfer/queries/stored-tuples.ts';
import { openOwnStore } from '../../store/open-store.ts';

/** Timeouts of the process are counted, and some of those of other test files may begin or end meanwhile. */
const compared = 100;
const startMs = Date.UTC(2024, 0, 1);
const at = (hour: number) => startMs + hour * hourMs;

/** Candles of hours, with this volume. */
function runOf(hours: readonly number[], volume: string) {
  const pages = new PageCollector(layouts.candles, 'row');
  for (const hour of hours) {
    let end = pages.begin(at(hour));
    for (const value of ['1', '1', '1', '1', volume]) end = writeDecimal(decimalText(value), pages.bytes, end);
    pages.keep(at(hour), end, hour);
  }
  const [page] = pages.take();
  if (page === undefined || !isPoints(page)) throw new Error('no page');
  return { tuples: page.tuples, from: 0, to: hours.length };
}

test('finds equal, changed, missing and absent points, and leaves no timeout behind', async () => {
  const { database } = await openOwnStore();
  await database.pool.query(`insert into tidemark.candle_points (series_id, time, open, high, low, close, volume)
    select 7, '2024-01-01Z'::timestamptz + hour * interval '1 hour', 1, 1, 1, 1, 2.0 from unnest(array[0, 1, 3, 4, 6, 9]) hour`);
  const runs = [runOf([1, 2, 3], '2.0'), runOf([4], '2.00'), runOf([5], '2.0')];
  await inTransaction(database, async (client) => {
    const timeouts = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timeouts();
    const window = { startMs, endMs: at(9) };
    const compare = () => compareStored(client, { dataset: 'candles', seriesId: 7, window }, runs);
    let found = await compare();
    for (let times = 1; times < compared; times += 1) found = await compare();
    expect(timeouts() - before).toBeLessThan(compared / 2);
    const timesOf = (some: typeof found.missing) =>
      some.flatMap(({ tuples, from, to }) => [...tuples.timesMs.slice(from, to)]);
    expect({ ...found, missing: timesOf(found.missing), changed: timesOf(found.changed) }).toEqual({
      unchanged: 2,
      missing: [at(2), at(5)],
      changed: [at(4)],
      absentMs: [at(0), at(6)],
    });
  });
});
