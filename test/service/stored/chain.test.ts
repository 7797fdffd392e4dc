/** A chain: one Tidemark ingests from another's service, and ends with the same text in every value. */

import { expect, it, onTestFinished } from 'vitest';
import { minuteMs } from '../../../contract/intervals.ts';
import type { SnapshotList } from '../../../contract/lists.ts';
import type { SeriesKey } from '../../../contract/series.ts';
import type { Database } from '../../../store/db/database.ts';
import { trackList } from '../../../store/lists/lists.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { openPipeline } from '../../pipeline/run-pipeline.ts';
import { storedPoints } from '../../pipeline/stored.ts';
import { listening, openFacing } from './facing.ts';
import { hours, nowMs, openStoredWorld, startMs } from './stored-world.ts';

const series: readonly { key: SeriesKey; fromMs: number }[] = [
  { key: hours, fromMs: startMs },
  {
    key: { ...hours, exchange: 'binance', quoteId: 'tether', interval: 'm1' },
    fromMs: Date.UTC(2024, 4, 15),
  },
  // Not stored by the first: it follows from the hours there.
  { key: { ...hours, interval: 'd1' }, fromMs: startMs },
  { key: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' }, fromMs: startMs },
  { key: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' }, fromMs: Date.UTC(2014, 0, 1) },
];
const lists: readonly SnapshotList[] = [
  { dataset: 'assets', asset: null },
  { dataset: 'exchanges', asset: null },
  { dataset: 'markets', asset: null },
  { dataset: 'asset_markets', asset: 'bitcoin' },
];

/** Every value as its text. What the interface's list leaves out cannot come through it. */
async function stateOf(database: Database, view: string): Promise<object[]> {
  const result = await database.pool.query<{ row: Record<string, unknown> }>(
    `select (select jsonb_object_agg(key, value) from jsonb_each_text(to_jsonb(v) - 'time' - 'vwap_24hr')) as row
     from ${view} v order by (to_jsonb(v) - 'time')::text`,
  );
  return result.rows.map(({ row }) => row);
}

for (const [first, second] of [
  ['main', 'plain'],
  ['plain', 'main'],
] as const) {
  describeNeeding('timescale', `from ${first} to ${second}`, () => {
    it('copies every series, rate and list without changing the text', async () => {
      const origin = await openStoredWorld(first);
      onTestFinished(() => origin.close());
      const app = await openFacing(origin, { clock: clockAt(() => nowMs) });
      const address = await listening(app);

      const clock = { nowMs };
      const copy = await openPipeline('postgres', clock, `${address}/v2`, { on: second });
      for (const { key, fromMs } of series) await copy.track(key, fromMs, null);
      for (const list of lists) await trackList(copy.database, list, 5 * minuteMs);
      const settings = { tickMs: 100, refreshMs: minuteMs, ratesMs: minuteMs, backfillShare: 0.2 };
      const scheduler = await copy.startScheduler({ refresh: true, settings });
      const worker = await copy.startWorker();
      await scheduler.settled();
      await waitFor('every list to be read', async () => {
        const read = await copy.database.pool.query<{ lists: number }>(
          `select count(distinct (list, asset))::integer as lists from polls where completed_at is not null`,
        );
        return read.rows[0]?.lists === lists.length;
      });
      await waitFor('the rates', async () => (await stateOf(copy.database, 'latest_rates')).length > 0);
      await scheduler.close();
      await worker.close();

      for (const { key, fromMs } of series) {
        const since = (rows: object[]) =>
          rows.filter(
            (row) => Number('period' in row ? row.period : (row as { time: number }).time) >= fromMs,
          );
        const wanted = since(await storedPoints(origin.database, key));
        expect(wanted.length).toBeGreaterThan(40);
        expect(await storedPoints(copy.database, key)).toEqual(wanted);
      }
      for (const view of ['assets', 'exchanges', 'markets', 'asset_markets', 'latest_rates']) {
        const wanted = await stateOf(origin.database, view);
        expect([view, wanted.length > 4]).toEqual([view, true]);
        expect(await stateOf(copy.database, view)).toEqual(wanted);
      }
    });
  });
}
