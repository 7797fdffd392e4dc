/** A chain whose first Tidemark has gaps: the second has the same ones, and takes none of them for an empty market. */

import { expect, it } from 'vitest';
import { dayMs, type EpochMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import type { Range } from '../../../model/ranges.ts';
import type { SeriesKey } from '../../../model/series.ts';
import type { Database } from '../../../store/db/database.ts';
import { listGaps } from '../../../store/series/gaps.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { graceMs, openPipeline } from '../../pipeline/run-pipeline.ts';
import { coverageOf, storedPoints } from '../../pipeline/stored.ts';
import { perpetuals, storeLine } from '../../schema/api/price-line.ts';
import { openOwnStore } from '../../store/open-store.ts';
import { listening, openFacing } from './facing.ts';
import { fill, hours, nowMs, simulator } from './stored-world.ts';

const day = (month: number, date: number, hour = 0) => Date.UTC(2024, month - 1, date, hour);
const minutes: SeriesKey = { ...hours, exchange: 'binance', quoteId: 'tether', interval: 'm1' };
const history: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' };
const days: SeriesKey = { ...hours, interval: 'd1' };

interface Line {
  readonly key: SeriesKey;
  readonly covered: readonly Range[];
  /** What it comes to have later. */
  readonly later: readonly Range[];
  /** Since when the second one wants it. */
  readonly fromMs: EpochMs;
}

const parts = (...bounds: (readonly [EpochMs, EpochMs])[]) => bounds.map(([startMs, endMs]) => ({ startMs, endMs }));
const kraken = {
  // Two gaps in the middle, and a tip that lags by three hours.
  covered: parts([day(4, 1), day(4, 10, 3)], [day(4, 10, 9), day(5, 2)], [day(5, 2, 1), day(5, 16, 7)]),
  later: parts([day(4, 10, 3), day(4, 10, 9)], [day(5, 2), day(5, 2, 1)], [day(5, 16, 7), day(5, 16, 10)]),
};
const lines: readonly Line[] = [
  { key: hours, ...kraken, fromMs: day(3, 20) },
  { key: history, ...kraken, fromMs: day(4, 1) },
  // So long before what the first has that the second looks by days for where the series begins.
  {
    key: minutes,
    covered: parts([day(5, 14), day(5, 15, 12)], [day(5, 15, 13), nowMs - 31_000]),
    later: parts([day(5, 15, 12), day(5, 15, 13)], [day(5, 12), day(5, 13)]),
    fromMs: day(4, 20),
  },
];
/** What follows of it by days, which the first does not store. */
const wholeDays = {
  before: parts([day(4, 1), day(4, 10)], [day(4, 11), day(5, 2)], [day(5, 3), day(5, 16)]),
  after: parts([day(4, 1), day(5, 16)]),
};

async function emptyOf(database: Database): Promise<string[]> {
  const result = await database.pool.query<{ found: string }>(
    `select confirmed_empty::text || before_beginning::text as found from tidemark.series`,
  );
  return result.rows.map(({ found }) => found);
}

describeNeeding('timescale', 'one Tidemark that ingests from another', () => {
  it('keeps the gaps of the first as gaps of the second until the first fills them', async () => {
    const origin = await openOwnStore();
    for (const { key, covered } of lines) for (const range of covered) await fill(origin.database, key, range);
    const clock = { nowMs };
    const app = await openFacing(origin, { clock: clockAt(() => clock.nowMs) });
    const copy = await openPipeline('postgres', clock, `${await listening(app)}/v2`, { on: 'plain' });
    const ids = new Map<SeriesKey, number>();
    for (const { key, fromMs } of lines) ids.set(key, await copy.track(key, fromMs, null));
    ids.set(days, await copy.track(days, day(4, 1), null));
    const covered = (key: SeriesKey) => coverageOf(copy.database, ids.get(key) ?? 0);
    const there = async (key: SeriesKey) => {
      const result = await origin.database.pool.query<{ id: number }>(
        `select id from tidemark.series where dataset = $1 and interval = $2 and (asset_id is not null or exchange_id = $3)`,
        [key.dataset, key.interval, key.dataset === 'candles' ? key.exchange : null],
      );
      return coverageOf(origin.database, result.rows[0]?.id ?? 0);
    };

    await copy.backfill();
    for (const { key } of lines) {
      expect(await covered(key)).toEqual(await there(key));
      expect(await storedPoints(copy.database, key)).toEqual(await storedPoints(origin.database, key));
    }
    expect(await covered(days)).toEqual(wholeDays.before);
    expect(new Set(await emptyOf(copy.database))).toEqual(new Set(['{}{}']));
    const gaps = await listGaps(copy.database, { nowMs, graceMs });
    expect(new Set(gaps.map(({ reason }) => reason))).toEqual(new Set(['failed']));
    for (const { message } of gaps) expect(message).toContain('is not complete there');
    const tries = async () => {
      const asked = await copy.database.pool.query<{ attempt: number; requests: number }>(
        'select attempt, count(*)::integer as requests from tidemark.fetches group by attempt',
      );
      return asked.rows;
    };
    const before = await tries();
    expect(before.map(({ attempt }) => attempt)).toEqual([1]);
    // Days that the first does not have show no beginning.
    const probes = await copy.database.pool.query<{ verdict: string }>(
      `select verdict from tidemark.fetches where lane = 'probe'`,
    );
    expect(probes.rows).toEqual([{ verdict: 'incomplete' }]);
    // Nothing is asked for again as long as it waits.
    await copy.backfill();
    expect(await tries()).toEqual(before);

    for (const { key, later } of lines) for (const range of later) await fill(origin.database, key, range);
    clock.nowMs += 11 * minuteMs;
    await copy.backfill();
    for (const { key } of lines) {
      expect(await covered(key)).toEqual(await there(key));
      const wanted = await storedPoints(origin.database, key);
      expect(wanted.length).toBeGreaterThan(40);
      expect(await storedPoints(copy.database, key)).toEqual(wanted);
    }
    expect(await covered(days)).toEqual(wholeDays.after);
    // Longer than any empty answer waits for its second one.
    clock.nowMs += hourMs + dayMs;
    await copy.backfill();
    expect(new Set(await emptyOf(copy.database))).toEqual(new Set(['{}{}']));
    for (const { key } of lines) expect(await covered(key)).toEqual(await there(key));
    const truth = simulator.truth.candles(hours, { startMs: day(4, 1), endMs: day(5, 16, 10) });
    expect(await storedPoints(copy.database, hours)).toEqual(truth);
  });

  it('has the points of perpetuals of the first, with their gaps', async () => {
    const origin = await openOwnStore();
    const app = await openFacing(origin, { clock: clockAt(() => nowMs) });
    const clock = { nowMs };
    const copy = await openPipeline('postgres', clock, `${await listening(app)}/v2`, { on: 'plain' });
    const [startMs, endMs] = [day(5, 1), day(5, 2)];
    const lines = perpetuals.map(({ knownAt: _, ...key }) => key as SeriesKey);
    for (const key of lines) {
      // An event of each hour. Two hours are missing.
      const prices = Array.from({ length: 24 }, (_, hour) => (hour === 9 || hour === 10 ? null : '1.000'));
      await storeLine(origin.database, {
        key,
        startMs,
        endMs,
        prices,
        covered: [
          [0, 9],
          [11, 24],
        ],
      });
      await copy.track(key, startMs, endMs);
    }
    await copy.backfill();
    for (const key of lines) {
      const wanted = await storedPoints(origin.database, key);
      expect([key.dataset, wanted.length]).toEqual([key.dataset, 22]);
      expect(await storedPoints(copy.database, key)).toEqual(wanted);
    }
    const gaps = await listGaps(copy.database, { nowMs, graceMs });
    const missing = gaps.map((gap) => [gap.series.dataset, gap.startMs, gap.endMs]);
    const hole = [day(5, 1, 9), day(5, 1, 11)];
    expect(missing.sort()).toEqual(lines.map(({ dataset }) => [dataset, ...hole]).sort());
  });
});
