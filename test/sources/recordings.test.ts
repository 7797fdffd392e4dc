import { expect, test } from 'vitest';
import type { Source } from '../../sources/source.ts';
import { describeRecordings, recordedLists, recording } from '../recordings.ts';
import { answering, failureAt } from './failure-at.ts';
import { serveBody, sourceAt } from './local-server.ts';
import { candlesAt, historyAt } from './points-at.ts';

type List = (typeof recordedLists)[number];

async function call(source: Source, list: List) {
  switch (list.resource) {
    case 'candle': {
      const market = { exchange: 'binance', baseId: 'x', quoteId: 'y' };
      return candlesAt(source, { ...market, interval: list.interval });
    }
    case 'historyPoint':
      return historyAt(source, 'bitcoin', { interval: 'h1' });
    case 'rate':
      return source.list('rates');
    case 'exchange':
      return source.list('exchanges');
    case 'asset':
      return source.list('assets');
    case 'assetMarket':
      return source.list('asset_markets', { id: 'bitcoin' });
  }
}

/** The recorded text with every decimal as a JSON number, as some resources of this interface write it. */
function withNumbers(text: string): string {
  return text.replaceAll(/"(-?(?:0|[1-9]\d*)\.\d+)"/g, '$1');
}

describeRecordings('recorded errors', () => {
  const kinds: Record<string, string> = {
    'unknown-asset': 'not_found',
    'bad-interval': 'refused',
    'rate-limited-text': 'rate_limited',
    'deprecation-429': 'notice',
    'deprecation-assets-list': 'notice',
    'deprecation-assets-list-2': 'notice',
  };

  test.each(Object.entries(kinds))('%s is %s, with the text of the service', async (id, kind) => {
    const all: { id: string; status: number | null; body: unknown }[] = JSON.parse(recording('errors'));
    const recorded = all.find((entry) => entry.id === id);
    const body = typeof recorded?.body === 'string' ? recorded.body : JSON.stringify(recorded?.body);
    const error = await failureAt(answering(recorded?.status ?? 200, body));
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(/asdf not found|use valid interval|You exceeded|We are deprecating/);
  });
});

describeRecordings('recorded answers', () => {
  test.each(recordedLists)(
    '$name: every digit survives being served and parsed, as text or as a number',
    async (list) => {
      const text = recording(list.name);
      const recorded: { data: Record<string, unknown>[]; timestamp?: number } = JSON.parse(text);
      for (const body of [text, withNumbers(text)]) {
        const server = await serveBody(body);
        const answer = await call(sourceAt(server.baseUrl), list);
        expect(answer.rejected).toEqual([]);
        expect(answer.rows).toHaveLength(list.rows);
        expect(answer.sourceTimeMs).toBe(recorded.timestamp ?? null);
        for (const [index, row] of answer.rows.entries()) {
          const written = recorded.data[index];
          for (const [field, value] of Object.entries(row).filter(([name]) => name !== 'id'))
            expect(value === null ? null : String(value)).toBe(textOf(written?.[field]));
        }
      }
    },
  );
});

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
