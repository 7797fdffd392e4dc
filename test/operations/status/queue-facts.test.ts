import { expect, test } from 'vitest';
import { defaultSource } from '../../../model/sources.ts';
import type { OperationContext } from '../../../operations/context.ts';
import { readQueueFacts } from '../../../operations/status/queue-facts.ts';
import { readConfig } from '../../../settings/config.ts';
import { defaultKind, openQueue, prepareQueue } from '../../queue/queue-parts.ts';

test('the budget is that of all sources in use, and that of SOURCE_URL where none is', async () => {
  const options = await prepareQueue(defaultKind());
  const queues = await openQueue(options);
  const config = readConfig({});
  const { requestsPerMinute: ownBudget } = config.source;
  const perMinute = new Map(Object.entries({ default: ownBudget, binance: 3000, kraken: 60, archive: 0 }));
  const find = (name: string) => ({ facts: { requestsPerMinute: perMinute.get(name), isBudgetStated: true } });
  const context = { sources: async () => ({ find }) };
  const budgetOf = async (...inUse: string[]) =>
    (await readQueueFacts(context as unknown as OperationContext, queues, inUse, new Map())).perMinute;
  expect(await budgetOf()).toBe(ownBudget);
  expect(await budgetOf(defaultSource)).toBe(ownBudget);
  expect(await budgetOf('binance', 'kraken')).toBe(3060);
  expect(await budgetOf(defaultSource, 'kraken')).toBe(ownBudget + 60);
  expect(await budgetOf('binance', 'archive')).toBe(0);
  const order = (perMinute: number) => ({ perMinute, sinceMs: 0, by: null });
  const lowered = new Map([
    ['kraken', order(20)],
    ['archive', order(5)],
    ['binance', order(9000)],
  ]);
  const { sources } = await readQueueFacts(
    context as unknown as OperationContext,
    queues,
    ['kraken', 'archive', 'binance'],
    lowered,
  );
  expect(sources.map(({ source, perMinute, lowered: by }) => [source, perMinute, by?.perMinute ?? null])).toEqual([
    [defaultSource, ownBudget, null],
    ['kraken', 20, 20],
    ['archive', 5, 5],
    ['binance', 3000, null],
  ]);
});
