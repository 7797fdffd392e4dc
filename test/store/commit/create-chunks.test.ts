import { expect, it } from 'vitest';
import { dayMs } from '../../../model/intervals.ts';
import { inTransaction } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { waitForLock } from '../../parts/wait-for.ts';
import { market } from '../../schema/api/candles.ts';
import { commitPoints, storedPoints } from '../committing.ts';
import { useStore } from '../open-store.ts';

const startMs = Date.UTC(2020, 0, 1);

describeNeeding('timescale', 'chunks', () => {
  const store = useStore();
  const track = async (base: string) => {
    const series = market(base, 'm1');
    return { ...(await trackSeries(store.database, series, startMs, null)), series };
  };

  it('do not make a commit wait for another one that is not finished', async () => {
    const { database } = store;
    const [first, second] = [await track('first'), await track('second')];
    const window = (day: number) => ({ startMs: startMs + day * dayMs, endMs: startMs + (day + 1) * dayMs });
    let blocked: Promise<unknown> = Promise.resolve();
    await inTransaction(database, async (client) => {
      await client.query('select from tidemark.series where id = $1 for update', [first.seriesId]);
      // It has written its points into a new chunk when it waits for the row of its series.
      blocked = commitPoints(database, { ...first, window: window(0) });
      await waitForLock(database.pool);
      const other = await commitPoints(database, { ...second, window: window(100) });
      expect(other).toMatchObject({ verdict: 'filled', fresh: 1440 });
    });
    expect(await blocked).toMatchObject({ verdict: 'filled', fresh: 1440 });
    expect((await storedPoints(database, first)).size).toBe(1440);
  });
});
