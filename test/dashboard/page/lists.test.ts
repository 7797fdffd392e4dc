/** The words of problems, events, polled lists and actions. */

import { expect, it } from 'vitest';
import { commandInstead, OutcomeView, trackCommand, wordsOfCost } from '../../../dashboard/page/parts/actions.tsx';
import { changeBudget } from '../../../dashboard/page/parts/source-orders.tsx';
import { Sections } from '../../../dashboard/page/problems/problems.tsx';
import { RequestError } from '../../../dashboard/page/state/server.ts';
import type { ActionLine, Problems } from '../../../dashboard/shapes.ts';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import { htmlOf, linesOf, textOf } from './rendered.ts';

const timeMs = Date.UTC(2024, 1, 1);
const name = '<img src=x> bitcoin/euro h1';

const nothing: Problems = {
  ...{ failing: [], failingInAll: 0, causes: [], errors: [], quarantine: [], revised: [], jobs: [] },
  locks: { statements: 0, holders: [] },
};

it('the problems list what failed by its cause, with what helps, and everything else with its series', () => {
  const window = { startMs: timeMs, endMs: timeMs + dayMs };
  const failed = { seriesId: 7, name, message: 'HTTP 500', retryMs: timeMs + hourMs };
  const cause = { message: 'HTTP 500', series: 1, ranges: 2, nextMs: timeMs + hourMs, isRefused: false };
  const action: ActionLine = {
    ...{ request: {}, endedMs: null },
    ...{ id: 1, action: 'verify', timeMs, userName: null, address: '127.0.0.1', state: 'running', result: null },
    progress: { done: 3, of: 9 },
  };
  const found: Problems = {
    ...{
      ...nothing,
      failing: [
        { ...failed, window },
        { ...failed, window: null },
      ],
      failingInAll: 1200,
    },
    causes: [cause, { ...cause, message: 'no such market', isRefused: true }],
    errors: [{ kind: 'timeout', requests: 1234, newestMs: timeMs, message: 'no answer' }],
    quarantine: [{ seriesId: 7, name, dataset: 'candles', seenAtMs: timeMs, reason: 'r', raw: `</code>${name}` }],
    revised: [{ seriesId: 7, name, values: 12 }],
    locks: { statements: 2, holders: ['ann', 'bob'] },
    jobs: [{ kind: 'policy', of: null, lastRunMs: null, failures: 3, message: 'm' }],
  };
  const done = { ...action, id: 2, action: 'pause', userName: 'ann', state: 'done' as const, result: 'paused' };
  const html = htmlOf(Sections, { found, actions: [action, { ...done, progress: null }] });
  expect(html).not.toContain('<img');
  const lines = textOf(html).split('\n');
  for (const line of [
    'The first 2 of 1,200: series that the source refuses, then the newest failures',
    'HTTP 500 1 series, 2 ranges. Next attempt 2024-02-01 01:00Z. What helps: tidemark retry',
    'no such market 1 series, 2 ranges. Next attempt 2024-02-01 01:00Z. What helps: tidemark untrack SERIES',
    'All of them',
    'The first 0',
    `${name} | 2024-02-01 | 2024-02-02 | 2024-02-01 01:00Z |`,
    `${name} | the whole series | | 2024-02-01 01:00Z |`,
    'timeout | 1,234 | 2024-02-01 | no answer |',
    'Statements that wait: 2. Held by: ann, bob.',
    'policy | | never | 3 | m |',
    `${name} | 2024-02-01 | r | </code>${name} |`,
    `${name} | 12 |`,
    'verify | 2024-02-01 | 127.0.0.1 | running: 3 of 9 |',
    'pause | 2024-02-01 | ann at 127.0.0.1 | done: paused |',
  ])
    expect(lines).toContain(line);
  expect(html).toContain(
    'href="./?series=7&amp;from=2024-02-01&amp;to=2024-02-02&amp;since=2024-02-01&amp;until=2024-02-02#chosen"',
  );
});

it('says what an action costs, and what became of it', () => {
  const cost = { requests: 1234, durationMs: 65_000, points: 2e6, diskBytes: 12.3e6, notes: ['a note'] };
  expect(wordsOfCost(cost)).toBe('1,234 requests, about 1 min, up to 2,000,000 points, 13 MB; a note.');
  expect(wordsOfCost({ ...cost, durationMs: 3, notes: [] })).toContain('requests, about 1 s, up to');
  const refused = { kind: 'refused' as const, text: 'Pause: no.', command: 'npx tidemark pause' };
  const retried = { kind: 'said' as const, text: 'Retry: 1 range.', atMs: Date.UTC(2024, 1, 1, 6, 7, 8, 999) };
  const running = { kind: 'said' as const, text: 'Verify: running.', atMs: null };
  const lines = linesOf(OutcomeView, { outcomes: [retried, running, { ...refused, atMs: retried.atMs }] });
  expect(lines).toEqual([
    ...['Retry: 1 range. 06:07:08Z', 'Verify: running.', 'Pause: no. 06:07:08Z', 'npx tidemark pause Copy'],
  ]);
});

it('offers the command of a refused action where it may work at a terminal', () => {
  const command = 'npx tidemark sources budget kraken 9999';
  const offered = [400, 422, 401, 403, 409, 500].map((status) => commandInstead(new RequestError(status, ''), command));
  expect(offered).toEqual([null, null, command, command, command, command]);
  expect(commandInstead(new TypeError('Failed to fetch'), command)).toBe(command);
});

it('quotes the text of a field for a shell', () => {
  expect(changeBudget('okx', '30; id').command).toBe("npx tidemark sources budget okx '30; id'");
  const command = trackCommand('candles', [
    ['symbol', "a'b; touch x"],
    ['from', '1y'],
  ]);
  expect(command).toBe("npx tidemark track candles --symbol 'a'\\''b; touch x' --from 1y");
});
