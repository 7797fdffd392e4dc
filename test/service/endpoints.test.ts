import { expect, test } from 'vitest';
import { createService } from '../../service/server.ts';
import { simulatedMarketData } from '../../simulator/served.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { clockAt } from '../parts/test-clock.ts';

test('pages lists and orders them as in the field', async () => {
  const nowMs = Date.UTC(2024, 4, 16, 10, 7, 31);
  const simulator = createSimulator({ seed: 'endpoints', clock: { now: () => nowMs } });
  const app = createService({ data: simulatedMarketData(simulator), clock: clockAt(() => nowMs) });
  const rowsOf = async (url: string): Promise<Record<string, unknown>[]> => (await app.inject(`/v2${url}`)).json().data;
  const ids = async (url: string) => (await rowsOf(url)).map((row) => row.id ?? row.exchangeId);
  const all = await ids('/assets');
  expect([...(await ids('/assets?limit=5')), ...(await ids('/assets?offset=5'))]).toEqual(all);
  for (const [query, found] of [
    ['ids=solana,bitcoin,nothing', ['bitcoin', 'solana']],
    ['ids=solana,+bitcoin%20,%20nothing', ['bitcoin', 'solana']],
    ['ids=', []],
    ['search=gLm', expect.arrayContaining(['golem-(glm)', 'galleon'])],
  ] as const)
    expect(await ids(`/assets?${query}`)).toEqual(found);
  const markets = await ids('/markets');
  expect(markets).toEqual(markets.toSorted());
  expect(await rowsOf('/markets?assetSymbol=btc&exchangeId=binance')).toHaveLength(4);
});
