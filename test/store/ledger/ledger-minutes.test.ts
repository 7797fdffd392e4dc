import { expect, it } from 'vitest';
import { type EpochMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { timestamp } from '../../../store/db/values.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { ledgerMinutes, tallyFetches } from '../../../store/ledger/ledger-minutes.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { market } from '../../schema/api/candles.ts';
import { openOwnStore } from '../open-store.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const everyMs = 1000;
const startMs = nowMs - hourMs / 2;
const rows = (nowMs - startMs) / everyMs;

it('a read of the ledger counts like a full read', async () => {
  const { database } = await openOwnStore();
  for (const exchange of ['a', 'b']) await trackSeries(database, market(exchange, 'h1'), startMs, null);
  await database.pool.query(
    `insert into tidemark.fetches (time, dataset, series_id, lane, attempt, verdict, status, fresh, changed, unchanged,
                                   rejected, bytes, duration_ms, error)
     select timestamptz '${timestamp(startMs)}' + n * interval '${everyMs} ms', 'candles', 1 + n % 2, 'backfill', 1,
            case when n % 100 = 0 then 'timeout' else 'filled' end, 200, 3, 0, 0, 0, 10, 1,
            case when n % 100 = 0 then 'no answer' end
     from generate_series(0, ${rows - 1}) n`,
  );
  const put = (timeMs: EpochMs, verdict: string, error: string | null) =>
    recordFetch(database.pool, {
      ...{ timeMs, dataset: 'candles', seriesId: 1, range: null, lane: 'backfill', attempt: 2 },
      ...{ verdict, status: 200, bytes: 1, durationMs: 1, error },
    });
  const minutes = ledgerMinutes(database, { sinceMs: startMs, seriesIds: [1, 2] });
  const first = tallyFetches(await minutes.read(nowMs));
  expect(first).toEqual({
    requests: rows,
    failed: rows / 100,
    succeeded: (rows * 99) / 100,
    fresh: 3 * rows,
    ...{ failures: { timeout: rows / 100 }, endsInFailure: false },
    lastFailure: { kind: 'timeout', message: 'no answer' },
  });
  await put(nowMs + 1000, 'timeout', 'again');
  const second = tallyFetches(await minutes.read(nowMs + 2000));
  expect(second).toMatchObject({ requests: rows + 1, endsInFailure: true, lastFailure: { message: 'again' } });
  const third = tallyFetches(await minutes.read(nowMs + 3 * minuteMs));
  expect(third).toEqual(second);
  // A commit after a long lock wait has the time of its answer.
  await put(startMs + minuteMs, 'filled', null);
  expect(tallyFetches(await minutes.read(nowMs + 4 * minuteMs)).requests).toBe(rows + 1);
  expect(tallyFetches(await minutes.recount(nowMs + 4 * minuteMs)).requests).toBe(rows + 2);
  expect(tallyFetches(await minutes.read(nowMs + 4 * minuteMs + 1000)).requests).toBe(rows + 2);
});
