import { expect, it } from 'vitest';
import { readRequestsOf } from '../../../dashboard/queries/requests.ts';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { openOwnStore } from '../../store/open-store.ts';

it('counts the requests of a minute, and has the newest with their series or list', async () => {
  const { database } = await openOwnStore();
  const minute = Date.UTC(2024, 0, 1, 12, 3);
  const series = { ...bitcoinHours, exchange: 'kraken', quoteId: 'euro' };
  const { seriesId } = await trackSeries(database, series, minute - hourMs, minute);
  const asked = (timeMs: number, of: readonly unknown[]) =>
    database.pool.query(
      `insert into tidemark.fetches
         (time, dataset, series_id, lane, attempt, verdict, status, fresh, duration_ms, error, source)
       values (to_timestamp($1::float8 / 1000), $2, $3, $4, 1, $5, $6, $7, 80, $8, $9)`,
      [timeMs, ...of],
    );
  const filled = ['candles', seriesId, 'backfill', 'filled', 200, 24, null, 'default'];
  for (const timeMs of [minute - 1, minute, minute + 1, minute + minuteMs]) await asked(timeMs, filled);
  await asked(minute + 3, ['candles', seriesId, 'refresh', 'unreachable', null, 0, 'refused\nthe rest', 'binance']);
  await asked(minute + 2, ['markets', null, 'poll', 'filled', 200, 7, null, 'default']);

  const one = { range: null, changed: 0, rejected: 0, rejectedFor: null, durationMs: 80, body: null };
  expect(await readRequestsOf(database, { minute, most: 2 })).toEqual({
    startMs: minute,
    endMs: minute + minuteMs,
    counts: [
      { source: 'default', verdict: 'filled', requests: 3 },
      { source: 'binance', verdict: 'unreachable', requests: 1 },
    ],
    requests: [
      {
        ...{ ...one, timeMs: minute + 3, seriesId, name: 'kraken bitcoin/euro h1', lane: 'refresh', source: 'binance' },
        ...{ verdict: 'unreachable', status: null, fresh: 0, error: 'refused' },
      },
      {
        ...{ ...one, timeMs: minute + 2, seriesId: null, name: 'markets', lane: 'poll', source: 'default' },
        ...{ verdict: 'filled', status: 200, fresh: 7, error: null },
      },
    ],
  });
  expect(await readRequestsOf(database, { minute: minute + hourMs, most: 2 })).toMatchObject({
    counts: [],
    requests: [],
  });
});
