import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../clock.ts';
import { dayMs, hourMs } from '../../model/intervals.ts';
import { rollupsTask, startTask } from '../../scheduler/upkeep.ts';
import { trackSeries } from '../../store/series/series.ts';
import { rangesBehind, refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { clockAt } from '../parts/test-clock.ts';
import { waitFor } from '../parts/wait-for.ts';
import { silent } from '../queue/queue-parts.ts';
import { candles, expectRollupsToAgree, market, put } from '../schema/api/candles.ts';
import { openOwnStore } from '../store/open-store.ts';

const nowMs = Date.UTC(2024, 0, 31);

describeNeeding('timescale', 'the rollup keeper', () => {
  it('rolls up every ended day, and the next one an hour after its end', async () => {
    const { database } = await openOwnStore();
    const { seriesId } = await trackSeries(database, market('a', 'h1'), nowMs - 30 * dayMs, null);
    await put(database, seriesId, candles(nowMs - 30 * dayMs, hourMs, 31 * 24));
    const at = { nowMs: nowMs + hourMs - 1 };
    const clock = clockAt(() => at.nowMs);
    const keeper = startTask(clock, rollupsTask({ database, everyMs: 20, log: silent, clock }));
    onTestFinished(() => keeper.close());
    const days = async () => {
      const found = await database.pool.query<{ days: number }>('select count(*) as days from tidemark.rollup_days');
      return found.rows[0]?.days;
    };
    await waitFor('the first refresh', async () => (await days()) === 29);
    expect(await rangesBehind(database)).toMatchObject([{ startMs: nowMs - dayMs }]);
    at.nowMs += 1;
    await waitFor('the next day', async () => (await days()) === 30);
    await expectRollupsToAgree(database);
    expect(await rangesBehind(database)).toMatchObject([{ startMs: nowMs }]);
  });

  it('logs a failure once and continues', async () => {
    const { database } = await openOwnStore();
    const { seriesId } = await trackSeries(database, market('a', 'h1'), nowMs - 30 * dayMs, null);
    await put(database, seriesId, candles(nowMs - 10 * dayMs, hourMs, 240));
    await refreshRollups(database, { clock: systemClock, nowMs });
    await put(database, seriesId, candles(nowMs - 30 * dayMs, hourMs, 100));
    await database.pool.query('alter table tidemark.rollup_days rename to elsewhere');
    const said = new Arrivals<string>();
    const log = { ...silent, warn: () => said.push('trouble'), info: () => said.push('well'), debug: () => {} };
    const clock = clockAt(() => nowMs);
    const keeper = startTask(clock, rollupsTask({ database, everyMs: 10, log: log as never, clock }));
    onTestFinished(() => keeper.close());
    await said.until(1);
    await database.pool.query('alter table tidemark.elsewhere rename to rollup_days');
    await waitFor('the rollups to be refreshed', async () => (await rangesBehind(database, { nowMs })).length === 0);
    await said.until(2);
    expect(said).toEqual(['trouble', 'well']);
  });
});
