/** The coverage that a source states, as another Tidemark does. */

import { describe, expect, test } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import type { Source } from '../../sources/source.ts';
import { failureOf } from './failure-at.ts';
import { type LocalServer, serveBody, sourceAt } from './local-server.ts';
import { candlesAt, historyAt } from './points-at.ts';

const range = { start: 0, end: 24 * hourMs };
const market = { exchange: 'kraken', baseId: 'bitcoin', quoteId: 'euro', interval: 'h1', ...range } as const;
const asked: [string, (source: Source) => Promise<{ known?: unknown }>][] = [
  ['/candles', (source) => candlesAt(source, market)],
  ['/assets/{id}/history', (source) => historyAt(source, 'bitcoin', { interval: 'h1', ...range })],
];

function saying(header: string): Promise<LocalServer> {
  return serveBody({ data: [], timestamp: range.end }, 200, { 'X-Tidemark-Coverage': header });
}

describe.each(asked)('%s: an answer', (_, ask) => {
  test('states nothing when it has no coverage header', async () => {
    const { baseUrl } = await serveBody({ data: [], timestamp: range.end });
    expect((await ask(sourceAt(baseUrl))).known).toBe(null);
  });

  test('states the end of its coverage', async () => {
    const { baseUrl } = await saying(`share=1, gaps=0, until=${range.end}`);
    expect((await ask(sourceAt(baseUrl))).known).toEqual({ untilMs: range.end, missing: [] });
  });

  test('states its missing ranges as whole periods', async () => {
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

  test('is an error when the source lacks the whole range', async () => {
    const { baseUrl, requests } = await saying(`share=0, gaps=1, until=${range.end}, missing=0-${range.end}`);
    const failure = await failureOf(sourceAt(baseUrl), ask);
    expect(failure).toMatchObject({ kind: 'incomplete', status: 200 });
    expect(failure.message).toMatch(/the source says that this is not complete there$/);
    expect(requests).toHaveLength(1);
  });

  test('is accepted when it reaches the open period, though every closed one is missing', async () => {
    const { baseUrl } = await saying(`share=0, gaps=1, until=${23 * hourMs}, missing=0-${23 * hourMs}`);
    expect((await ask(sourceAt(baseUrl))).known).toEqual({
      ...{ untilMs: 23 * hourMs, missing: [{ startMs: 0, endMs: 23 * hourMs }] },
    });
  });

  test.each(['', 'share=1, gaps=0', 'share=0.99, gaps=2, until=86400000', 'all of it'])(
    'is not treated as complete when its coverage header is unreadable: %j',
    async (header) => {
      const { baseUrl } = await saying(header);
      const failure = await failureOf(sourceAt(baseUrl), ask);
      expect(failure.kind).toBe('incomplete');
      expect(failure.message).toContain('cannot be read');
    },
  );
});
