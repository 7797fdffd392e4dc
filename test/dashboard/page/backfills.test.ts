import { expect, it } from 'vitest';
import { Backfills } from '../../../dashboard/page/contents/backfills.tsx';
import type { BackfillLine } from '../../../dashboard/shapes.ts';
import { htmlOf } from './rendered.ts';

const line: BackfillLine = {
  ...{ id: 7, kind: 'backfill', askedMs: Date.UTC(2024, 2, 1), by: 'ann@host', state: 'running' },
  ...{ names: ['binance bitcoin/tether h1'], series: 3, fromMs: 0, toMs: Date.UTC(2024, 0, 1) },
  ...{ progress: '2 of 9 requests to go, 50 % covered', left: 2, etaMs: null, result: null, endedMs: null },
  answers: {
    requests: 8,
    points: 90,
    kinds: { filled: 7 },
    failures: [{ kind: 'timeout', requests: 1, message: 'no answer' }],
  },
};

it('shows who asked, how far it is, and what failed, with a button that cancels it', () => {
  const html = htmlOf(Backfills, { lines: [line] });
  for (const text of [
    'backfill 7: binance bitcoin/tether h1 and 2 more, 1970-01-01 to 2024-01-01',
    'by ann@host',
    'running: 2 of 9 requests to go, 50 % covered',
    '8 requests made: 7 filled, 1 failed; 90 new points',
    '1 request failed, timeout: no answer',
    'Cancel 7</button>',
    'None yet.',
  ])
    expect(html).toContain(text);
});

it('lists what has ended without a button, and says where that of the watch list is cancelled', () => {
  const ended: BackfillLine = {
    ...line,
    state: 'cancelled',
    result: 'cancelled by bob@host',
    endedMs: 1,
    progress: null,
  };
  // Its process was killed, and nothing that it asked for is tracked.
  const over: BackfillLine = { ...ended, id: 9, kind: 'verify', state: 'interrupted', result: 'x', endedMs: null };
  const gone = { ...ended, id: 6, names: [], series: 0, fromMs: null, toMs: null };
  const html = htmlOf(Backfills, { lines: [{ ...line, id: 8, kind: 'watch_list' }, ended, over, gone] });
  expect(html.match(/[^<>]*cancelled[^<>]*/g)).toEqual(['cancelled by bob@host', 'cancelled by bob@host']);
  expect(html).toContain('backfill 6: deleted');
  expect(html).toContain('interrupted: x');
  expect(html).toContain('change the watch list');
  expect(html).not.toContain('<button');
});
