import { expect, it } from 'vitest';
import { minuteMs } from '../../../model/intervals.ts';
import { timestamp } from '../../../store/db/values.ts';
import { countRecentRequests, readRateRefusals, readRecentAnswers } from '../../../store/ledger/recent-answers.ts';
import { openOwnStore } from '../open-store.ts';

const nowMs = Date.UTC(2026, 0, 31, 6);

async function ledger() {
  const { database } = await openOwnStore();
  return {
    database,
    record: (agoMs: number, verdict: string, lane = 'backfill', source = 'default') =>
      database.pool.query(
        `insert into tidemark.fetches (time, dataset, lane, attempt, verdict, fresh, changed, unchanged, rejected, bytes,
                                       duration_ms, error, source)
         values ($1, 'candles', $2, 1, $3, 0, 0, 0, 0, 0, 0, $4, $5)`,
        [timestamp(nowMs - agoMs), lane, verdict, verdict === 'filled' ? null : `status of ${verdict}`, source],
      ),
  };
}

it('counts answers of the lanes that fill gaps, in parts of five seconds', async () => {
  const { database, record } = await ledger();
  await record(11 * minuteMs, 'filled');
  for (const lane of ['refresh', 'backfill', 'probe', 'reread', 'repair', 'verify', 'poll'])
    await record(minuteMs, 'filled', lane);
  await record(minuteMs, 'timeout');
  await record(2000, 'filled', 'refresh', 'okx');
  expect(await readRecentAnswers(database, nowMs)).toEqual([
    { source: 'default', endMs: nowMs - minuteMs + 5000, answers: 3, refreshes: 1 },
    { source: 'okx', endMs: nowMs, answers: 1, refreshes: 1 },
  ]);
  expect(await countRecentRequests(database, nowMs)).toEqual(new Map([['okx', 1]]));
});

it('keeps the newest refusal of each source until requests succeed again', async () => {
  const { database, record } = await ledger();
  await record(5 * minuteMs, 'rate_limited');
  await record(4 * minuteMs, 'rate_limited');
  // Under way when the source refused.
  await record(4 * minuteMs - 1000, 'filled');
  await record(4 * minuteMs, 'rate_limited', 'backfill', 'okx');
  await record(61 * minuteMs, 'rate_limited', 'backfill', 'kraken');
  const refusal = { timeMs: nowMs - 4 * minuteMs, message: 'status of rate_limited' };
  expect(await readRateRefusals(database, nowMs)).toEqual(
    new Map([
      ['default', refusal],
      ['okx', refusal],
    ]),
  );
  await record(minuteMs, 'filled', 'backfill', 'okx');
  expect(await readRateRefusals(database, nowMs)).toEqual(new Map([['default', refusal]]));
});
