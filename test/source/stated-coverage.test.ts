/** What a source says that it does not have itself: another Tidemark does. */

import { describe, expect, test } from 'vitest';
import { hourMs } from '../../contract/intervals.ts';
import type { Source } from '../../source/source.ts';
import { failureOf } from './failure-at.ts';
import { type LocalServer, serveBody, sourceAt } from './local-server.ts';

const range = { start: 0, end: 24 * hourMs };
const market = { exchange: 'kraken', baseId: 'bitcoin', quoteId: 'euro', interval: 'h1', ...range } as const;
const asked: [string, (source: Source) => Promise<{ known: unknown }>][] = [
  ['/candles', (source) => source.candles(market)],
  ['/candles/market', (source) => source.candlesMarket(market)],
  ['/assets/{id}/history', (source) => source.assetHistory('bitcoin', { interval: 'h1', ...range })],
];

function saying(header: string): Promise<LocalServer> {
  return serveBody({ data: [], timestamp: range.end }, 200, { 'X-Tidemark-Coverage': header });
}

describe.each(asked)('%s: an answer', (_, ask) => {
  test('that says nothing of it is what it was', async () => {
    const { baseUrl } = await serveBody({ data: [], timestamp: range.end });
    expect((await ask(sourceAt(baseUrl))).known).toBe(null);
  });

  test('says up to when it knows all of it', async () => {
    const { baseUrl } = await saying(`share=1, gaps=0, until=${range.end}`);
    expect((await ask(sourceAt(baseUrl))).known).toEqual({ untilMs: range.end, missing: [] });
  });

  test('says what of the range is missing, as whole periods', async () => {
    const missing = `${2 * hourMs}-${2 * hourMs + 1} ${5 * hourMs}-${6 * hourMs}`;
    const { baseUrl } = await saying(`share=0.9, gaps=2, until=${range.end}, missing=${missing}`);
    expect((await ask(sourceAt(baseUrl))).known).toEqual({
      untilMs: range.end,
      missing: [
        { startMs: 2 * hourMs, endMs: 3 * hourMs },
        { startMs: 5 * hourMs, endMs: 6 * hourMs },
      ],
    });
  });

  test('of which the source has nothing itself is none', async () => {
    const { baseUrl, requests } = await saying(`share=0, gaps=1, until=${range.end}, missing=0-${range.end}`);
    const failure = await failureOf(sourceAt(baseUrl), ask);
    expect(failure).toMatchObject({ kind: 'incomplete', status: 200 });
    expect(failure.message).toMatch(/the source says that it does not have this itself$/);
    expect(requests).toHaveLength(1);
  });

  test('that reaches beyond what has ended is one, though all before is missing', async () => {
    const { baseUrl } = await saying(`share=0, gaps=1, until=${23 * hourMs}, missing=0-${23 * hourMs}`);
    expect((await ask(sourceAt(baseUrl))).known).toEqual({
      ...{ untilMs: 23 * hourMs, missing: [{ startMs: 0, endMs: 23 * hourMs }] },
    });
  });

  test.each(['', 'share=1, gaps=0', 'share=0.99, gaps=2, until=86400000', 'all of it'])(
    'whose coverage cannot be read is not believed to be whole: %j',
    async (header) => {
      const { baseUrl } = await saying(header);
      const failure = await failureOf(sourceAt(baseUrl), ask);
      expect(failure.kind).toBe('incomplete');
      expect(failure.message).toContain('cannot be read');
    },
  );
});
