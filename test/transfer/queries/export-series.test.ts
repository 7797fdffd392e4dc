import { expect, it } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { dayMs } from '../../../model/intervals.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { inSnapshot, readExportSeries } from '../../../transfer/queries/export-series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { lockWaits, waitFor } from '../../parts/wait-for.ts';
import { market } from '../../schema/api/candles.ts';
import { commitPoints } from '../../store/committing.ts';
import { openOwnStore } from '../../store/open-store.ts';

describeNeeding('timescale', 'an export while a policy moves chunks to the columnstore', () => {
  it('sees every point, whichever chunk holds it', async () => {
    const store = await openOwnStore();
    const series = market('bitcoin', 'h1');
    const startMs = Date.UTC(2024, 0, 1);
    const window = { startMs, endMs: startMs + 100 * dayMs };
    const { seriesId } = await trackSeries(store.database, series, window.startMs, window.endMs);
    await commitPoints(store.database, { seriesId, series, window });
    const { pool } = store.database;
    const chunks = await pool.query<{ chunk: string }>(
      `select c::text as chunk from show_chunks('tidemark.candle_points') c order by 1`,
    );
    expect(chunks.rows.length).toBeGreaterThan(2);
    // The others are merged into the first one.
    const [first, ...others] = chunks.rows.map(({ chunk }) => `select compress_chunk('${chunk}')`);
    await pool.query(first ?? '');
    let merging: Promise<unknown> = Promise.resolve();
    const seen = await inSnapshot(store.database, async (client) => {
      await client.query('select from tidemark.series');
      let isOver = false;
      merging = (async () => {
        for (const statement of others) await pool.query(statement);
        isOver = true;
      })();
      await waitFor('the policy to end, or to wait for this', async () => isOver || (await lockWaits(pool)) > 0);
      const { rows } = await client.query('select count(*) as points from tidemark.candle_points');
      return rows[0].points;
    });
    await merging;
    expect(seen).toBe(100 * 24);
    const after = await pool.query(`select count(*) as chunks from show_chunks('tidemark.candle_points')`);
    expect(after.rows[0].chunks).toBe(1);
  });
});

it('takes its locks again after a deadlock with compression', async () => {
  const store = await openOwnStore('plain');
  const options = { applicationName: 'reader', maxConnections: 1, statementTimeoutMs: 60_000 };
  // Whoever has waited so long looks for a deadlock, and gives way: the reader, and never the other.
  const reader = openDatabase({ ...options, url: store.url, settings: ['deadlock_timeout=3s'] });
  const other = await store.database.pool.connect();
  try {
    await other.query(`begin; set local deadlock_timeout = '1h'; set local lock_timeout = 0`);
    await other.query('lock table tidemark.rate_points in access exclusive mode');
    const reading = inSnapshot(reader, (client) => client.query('select 1'));
    await waitFor('the reader to wait', async () => (await lockWaits(store.database.pool)) > 0);
    await other.query('lock table tidemark.candle_points in access exclusive mode');
    await other.query('commit');
    expect((await reading).rowCount).toBe(1);
  } finally {
    other.release(true);
    await reader.close();
  }
});

it('says that nothing has closed of a range that begins in the future, with an end and without', async () => {
  const store = await openOwnStore('plain');
  const series = market('bitcoin', 'h1');
  const nowMs = systemClock.now();
  await trackSeries(store.database, series, nowMs - dayMs, null);
  for (const toMs of [null, nowMs + 20 * dayMs]) {
    const query = { series: [series], fromMs: nowMs + 10 * dayMs, toMs, nowMs, graceMs: 0 };
    await expect(inSnapshot(store.database, (client) => readExportSeries(client, query))).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
      message: 'no period of x bitcoin/tether h1 in that range has closed yet',
    });
  }
});
