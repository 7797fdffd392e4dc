import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { minuteMs } from '../../../contract/intervals.ts';
import { commitRates } from '../../../store/lists/rates.ts';
import { openTestStore, type TestStore } from '../open-store.ts';

const at = (n: number) => Date.UTC(2024, 0, 1) + n * 5 * minuteMs;

describe('a currency whose rate is no longer listed', () => {
  let store: TestStore;
  beforeAll(async () => {
    store = await openTestStore();
  });
  afterAll(() => store.close());

  async function poll(n: number, ids: readonly string[], timeMs = at(n)): Promise<unknown[]> {
    const rows = ids.map((id) => ({
      id,
      symbol: 'X',
      currencySymbol: id === 'a' ? '¤' : null,
      type: 'fiat',
      rateUsd: decimalText('1.10'),
    }));
    const answer = { rows, rejected: [], sourceTimeMs: timeMs, status: 200, bytes: 0, durationMs: 0 };
    await commitRates(store.database, { answer, attempt: 1, nowMs: at(n) });
    const latest = await store.database.pool.query(
      'select currency, currency_symbol, gone_since from latest_rates order by currency',
    );
    return latest.rows;
  }

  it('is gone since the first of two polls in a row, stays, and may come back', async () => {
    const a = { currency: 'a', currency_symbol: '¤', gone_since: null };
    const b = { currency: 'b', currency_symbol: null, gone_since: null };
    expect(await poll(0, ['a', 'b'])).toEqual([a, b]);
    expect(await poll(1, ['a'])).toEqual([a, b]);
    // A cached copy does not count as a second poll.
    expect(await poll(2, ['a'], at(1))).toEqual([a, b]);
    expect(await poll(3, ['a'])).toEqual([a, { ...b, gone_since: at(1) }]);
    expect(await poll(4, ['a'])).toEqual([a, { ...b, gone_since: at(1) }]);
    expect(await poll(5, ['a', 'b'])).toEqual([a, b]);
  });
});
