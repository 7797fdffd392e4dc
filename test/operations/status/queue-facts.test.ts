import { expect, test } from 'vitest';
import { dayMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import type { OperationContext } from '../../../operations/context.ts';
import { readQueueFacts } from '../../../operations/status/queue-facts.ts';
import { readConfig } from '../../../settings/config.ts';
import { fillOf } from '../../parts/windows.ts';
import { bitcoinHours, defaultKind, openQueue, prepareQueue } from '../../queue/queue-parts.ts';

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

test('what is queued of a series is told of all its sources, and counted for each', async () => {
  const queues = await openQueue(await prepareQueue(defaultKind()));
  const facts = { requestsPerMinute: 60, isBudgetStated: true };
  const context = { sources: async () => ({ find: () => ({ facts }) }) } as unknown as OperationContext;
  const windowAt = (day: number, source: string) =>
    fillOf({ seriesId: 1, series: bitcoinHours, startMs: day * dayMs, endMs: (day + 1) * dayMs }, { source });
  await queues.requests.addWindows([windowAt(0, defaultSource), windowAt(1, defaultSource)]);
  await queues.requestsOf('kraken').addWindows([windowAt(2, 'kraken')]);
  const { windows, sources } = await readQueueFacts(context, queues, ['kraken'], new Map());
  const starts = [...windows].map(([id, ranges]) => [id, ranges.map(({ startMs }) => startMs / dayMs).sort()]);
  expect(starts).toEqual([[1, [0, 1, 2]]]);
  expect(sources.map(({ queued }) => [...(queued ?? [])])).toEqual([[[1, 2]], [[1, 1]]]);
});
