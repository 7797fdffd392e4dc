import { expect, it } from 'vitest';
import { decimalText } from '../../../model/decimal.ts';
import { minuteMs } from '../../../model/intervals.ts';
import { answerOf, commitRates } from '../committing.ts';
import { openOwnStore } from '../open-store.ts';

const at = (n: number) => Date.UTC(2024, 0, 1) + n * 5 * minuteMs;

it('a currency whose rate is no longer listed is gone since the first of two polls, stays, and may come back', async () => {
  const { database } = await openOwnStore();
  async function poll(n: number, ids: readonly ('a' | 'b')[], timeMs = at(n)): Promise<unknown[]> {
    const signs = { a: '¤', b: null };
    const rows = ids.map((id) => ({
      ...{ id, symbol: 'X', currencySymbol: signs[id], type: 'fiat', rateUsd: decimalText('1.10') },
    }));
    await commitRates(database, { answer: answerOf(rows, timeMs), nowMs: at(n) });
    const latest = 'select currency, currency_symbol, gone_since from latest_rates order by currency';
    return (await database.pool.query(latest)).rows;
  }
  const a = { currency: 'a', currency_symbol: '¤', gone_since: null };
  const b = { currency: 'b', currency_symbol: null, gone_since: null };
  expect(await poll(0, ['a', 'b'])).toEqual([a, b]);
  expect(await poll(1, ['a'])).toEqual([a, b]);
  // A cached copy does not count as a second poll.
  expect(await poll(2, ['a'], at(1))).toEqual([a, b]);
  for (const n of [3, 4]) expect(await poll(n, ['a'])).toEqual([a, { ...b, gone_since: at(1) }]);
  expect(await poll(5, ['a', 'b'])).toEqual([a, b]);
});
