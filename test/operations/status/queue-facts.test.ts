import { expect, test } from 'vitest';
import { defaultSource } from '../../../model/sources.ts';
import type { OperationContext } from '../../../operations/context.ts';
import { readQueueFacts } from '../../../operations/status/facts.ts';
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
    (await readQueueFacts(context as unknown as OperationContext, queues, inUse)).perMinute;
  expect(await budgetOf()).toBe(ownBudget);
  expect(await budgetOf(defaultSource)).toBe(ownBudget);
  expect(await budgetOf('binance', 'kraken')).toBe(3060);
  expect(await budgetOf(defaultSource, 'kraken')).toBe(ownBudget + 60);
  expect(await budgetOf('binance', 'archive')).toBe(0);
  const { sources } = await readQueueFacts(context as unknown as OperationContext, queues, ['kraken']);
  expect(sources.map(({ source }) => source)).toEqual([defaultSource, 'kraken']);
});
