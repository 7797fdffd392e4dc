import { expect, it } from 'vitest';
import { expiryMs, marketKind, parseQuote, quoteProblem, quoteText } from '../../model/market.ts';
import { useStore } from '../store/open-store.ts';

const store = useStore();

it.each([
  ['tether', 'tether', null, null, 'spot'],
  ['tether:tether', 'tether', 'tether', null, 'perpetual'],
  ['united-states-dollar:bitcoin-cash', 'united-states-dollar', 'bitcoin-cash', null, 'perpetual'],
  ['USDT:USDT-261225', 'USDT', 'USDT', '261225', 'future'],
  ['united-states-dollar:usd-coin-261225', 'united-states-dollar', 'usd-coin', '261225', 'future'],
  // An asset's name may end in a number, and in one of six digits where nothing is settled.
  ['token-261225', 'token-261225', null, null, 'spot'],
  ['a:b-26122', 'a', 'b-26122', null, 'perpetual'],
  ['tether:', 'tether:', null, null, 'spot'],
] as const)('reads the parts of %s, in SQL too', async (quote, asset, settle, expiry, kind) => {
  expect([parseQuote(quote), marketKind(quote)]).toEqual([{ asset, settle, expiry }, kind]);
  expect(quoteText(parseQuote(quote))).toBe(quote);
  const { rows } = await store.database.pool.query(
    `with made as (
       insert into tidemark.series (dataset, exchange_id, base_id, quote_id, interval, period, tracked)
       values ('candles', 'kinds', 'bitcoin', $1, 'h1', '1 hour', '[2024-01-01,)') returning settle_id, expiry
     )
     select p.asset, p.settle, p.expiry, m.settle_id, m.expiry as same, tidemark.quote_text(p.asset, p.settle, p.expiry) as text
     from tidemark.quote_parts($1) p, made m`,
    [quote],
  );
  expect(rows).toEqual([{ asset, settle, expiry, settle_id: settle, same: expiry, text: quote }]);
});

it.each([
  ['tether', null],
  ['tether:tether', null],
  // As Binance and OKX state them.
  ['USDT:USDT-210924', 1_632_470_400_000],
  ['USD:BTC-241227', 1_735_286_400_000],
])('delivers %s at the time that venues state', (quote, timeMs) => {
  expect(expiryMs(quote)).toBe(timeMs);
});

it.each([
  ['tether', true],
  ['token-261225', true],
  ['USDT:USDT', true],
  ['USD:BTC-240229', true],
  ['USD:BTC-230229', false],
  ['USDT:USDT-991332', false],
  ['USDT:USDT-000000', false],
  ['USDT:USD:X', false],
  ['tether:', false],
  [':tether', false],
])('takes a quote with a day that exists: %s', (quote, isOne) => {
  expect(quoteProblem(quote) === null).toBe(isOne);
});
