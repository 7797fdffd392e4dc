import { expect, test } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { assertCreditsLeft } from '../../operations/source-health.ts';
import { type NewEntry, readUse, recordFetch } from '../../store/ledger/ledger.ts';
import { openOwnStore } from '../store/open-store.ts';

const nowMs = Date.UTC(2026, 10, 20, 12);

async function open() {
  const { database } = await openOwnStore();
  const record = (entry: Partial<NewEntry>) =>
    recordFetch(database.pool, {
      ...{ timeMs: nowMs - dayMs, dataset: 'asset_history', lane: 'backfill', attempt: 1, source: 'coins' },
      ...{ verdict: 'filled', status: 200, bytes: 0, durationMs: 1 },
      ...entry,
    });
  const failed = (verdict: string, error: string) => record({ verdict, status: null, error });
  const check = (amount: number, periods: number) => {
    const longLimit = { unit: 'credit', amount, periodMs: 30 * dayMs, bytesEach: 100, rowBytes: 100 } as const;
    return assertCreditsLeft({ database }, { name: 'coins', longLimit }, periods, nowMs);
  };
  const used = async () => (await readUse(database, 'coins', { periodMs: 30 * dayMs, bytesEach: 100 }, nowMs)).used;
  return { record, failed, check, used };
}

test('a request costs a credit unless no connection was made', async () => {
  const { record, failed, used } = await open();
  await record({ verdict: 'unreachable', status: null, error: 'GET /assets: connect ECONNREFUSED', isSent: false });
  expect(await used()).toBe(0);
  await failed('timeout', 'GET /assets: no complete answer within 30000 ms');
  await failed('unreachable', 'GET /assets: other side closed');
  await record({ verdict: 'server_error', status: 500, error: 'GET /assets: connect ECONNREFUSED 10.0.0.1:80' });
  await record({ bytes: 250 });
  expect(await used()).toBe(1 + 1 + 1 + 4);
});

test('says what is left of the credits, what the next request needs, and when credits are free again', async () => {
  const { record, check } = await open();
  await record({ bytes: 1900 });
  await check(60, 39);
  await expect(check(60, 42)).rejects.toMatchObject({
    code: 'SOURCE_REFUSED',
    message: 'coins: 20 of 60 credits in 30 d are used, 40 are left, and the next request needs about 43',
    remedy:
      'the first ones are free again at 2026-12-19 12:00Z, and `run` goes on when enough are; `credits` of the watch list states those of another plan',
  });
  await expect(check(30, 42)).rejects.toMatchObject({
    message: 'coins: 20 of 30 credits in 30 d are used, 10 are left, and the next request needs about 43',
    remedy: 'no request of this kind fits: `credits` of the watch list states those of another plan',
  });
});
