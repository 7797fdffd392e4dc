/** The sources that a series can be compared with, as `verify --against` takes them, from what is stored. */

import { expect, it } from 'vitest';
import { sourcesToCompare } from '../../operations/compared-sources.ts';
import { readRegistry } from '../../runtime/sources.ts';
import { readConfig } from '../../settings/config.ts';
import { inTransaction } from '../../store/db/database.ts';
import { writeAliases } from '../../store/series/aliases.ts';
import { trackSeries } from '../../store/series/series.ts';
import { storeMarkets } from '../../store/series/sources.ts';
import { market } from '../dashboard/dashboard-world.ts';
import { useStore } from '../store/open-store.ts';

const store = useStore();
const listed = (symbol: string, base: string, quote: string) => ({
  ...{ symbol, base, quote, listedMs: null, isTrading: true, contract: null },
});

it('offers other exchanges too: those that list the market first, those without a list as not known, the own one never', async () => {
  const { database } = store;
  const { seriesId } = await trackSeries(database, market, 0, null);
  const compared = async (env: Record<string, string> = {}) => {
    const sources = () => readRegistry(readConfig(env));
    return await sourcesToCompare({ database, sources }, { seriesId, series: market });
  };
  const url = { SOURCE_URL: 'http://127.0.0.1:1/v2' };
  // Its own source is the default one.
  const before = await compared(url);
  expect(before).toContainEqual({ name: 'okx', isKnown: false });
  expect(before.map(({ name }) => name)).not.toContain('default');
  // It has no candles of spot markets.
  expect(before.map(({ name }) => name)).not.toContain('okx-swap');

  await storeMarkets(database, 'okx', [listed('BTC-EUR', 'BTC', 'EUR'), listed('ETH-EUR', 'ETH', 'EUR')], 0);
  await storeMarkets(database, 'bybit', [listed('BTCUSDT', 'BTC', 'USDT')], 0);
  await inTransaction(database, (client) =>
    writeAliases(client, [
      { source: '', code: 'BTC', asset: 'bitcoin' },
      { source: '', code: 'EUR', asset: 'euro' },
    ]),
  );
  const [first, ...others] = await compared(url);
  expect(first).toEqual({ name: 'okx', isKnown: true });
  expect(others).toContainEqual({ name: 'kraken', isKnown: false });
  expect(others.map(({ name }) => name)).not.toContain('bybit');

  // Of another source the default one may have it, where it can be asked.
  await database.pool.query(`update tidemark.series_sources set source = 'kraken', symbol = 'XBTEUR'`);
  const names = (found: typeof others) => found.map(({ name, isKnown }) => `${name} ${isKnown}`);
  expect(names(await compared(url))).toContain('default false');
  expect(names(await compared()).join()).not.toContain('default');
  expect(names(await compared(url)).join()).not.toContain('kraken');
  expect((await compared(url))[0]).toEqual({ name: 'okx', isKnown: true });
});
