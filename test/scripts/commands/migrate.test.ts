import { expect, it, onTestFinished } from 'vitest';
import { hourMs } from '../../../contract/intervals.ts';
import { rangesBehind } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { createTestDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { openTestStore } from '../../store/open-store.ts';
import { candles, expectRollupsToAgree, market, put } from '../../store/views/candles.ts';
import { start, tidemark } from '../command.ts';

it('rejects down while a worker or a scheduler is connected', async () => {
  const { url, drop } = await createTestDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url, SOURCE_URL: 'http://127.0.0.1:1/v2' };
  expect((await tidemark(['migrate'], env)).exitCode).toBe(0);
  const parts = ['worker', 'scheduler'];
  for (const part of parts) {
    const service = start([part], env);
    const isThere = async () => (await tidemark(['status', '--check', part], env)).exitCode === 0;
    await waitFor(`the ${part}`, isThere);
    const refused = await tidemark(['migrate', 'down', '--yes'], env);
    expect(refused.stderr).toMatch(
      /^tidemark: DATABASE_IN_USE: in use by (\w+ and )?\w+; stop it first.*\n$/,
    );
    expect(refused.stderr).toContain(part);
    expect(refused.exitCode).toBe(5);
    expect((await tidemark(['status'], env)).exitCode).toBe(0);
    service.kill('SIGTERM');
    expect((await service.ended).exitCode).toBe(0);
  }
  const down = await tidemark(['migrate', 'down', '--yes'], env);
  expect(down).toMatchObject({ exitCode: 0, stderr: '' });
  // There is nothing left to be in use.
  expect((await tidemark(['migrate', 'down', '--yes'], env)).exitCode).toBe(0);
});

it('rolls up the days that are not rolled up yet', async () => {
  const { database, url, close } = await openTestStore();
  onTestFinished(close);
  const { seriesId } = await trackSeries(database, market('a', 'm1'), 0, null);
  await put(database, seriesId, candles(Date.UTC(2024, 0, 1), hourMs, 72));
  expect(await rangesBehind(database)).toHaveLength(1);
  expect(await tidemark(['migrate'], { DATABASE_URL: url })).toMatchObject({ exitCode: 0 });
  expect(await rangesBehind(database)).toEqual([]);
  const stored = await database.pool.query('select from tidemark.rollup_days');
  expect(stored.rowCount).toBe(3);
  await expectRollupsToAgree(database);
});
