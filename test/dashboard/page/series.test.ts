/** The words of the page of a series: facts, bands, gaps, requests, values, times and the comparison. */

import { describe, expect, it } from 'vitest';
import { rangeOf, segmentAt } from '../../../dashboard/page/parts/band.tsx';
import { nameWithin } from '../../../dashboard/page/parts/marks.tsx';
import { joinPieces, type Piece } from '../../../dashboard/page/series/chart-piece.ts';
import { PointedValues, ValueTable } from '../../../dashboard/page/series/chart-section.tsx';
import { ChosenRange, FoundRange, factsOf } from '../../../dashboard/page/series/chosen-range.tsx';
import { ComparedLegend } from '../../../dashboard/page/series/compare.tsx';
import type { Pointed, PriceChart, Span } from '../../../dashboard/page/series/price-chart.ts';
import { Parts } from '../../../dashboard/page/series/series-page.tsx';
import type { Band, SeriesDetail, SeriesRange } from '../../../dashboard/shapes.ts';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { htmlOf, linesOf, linksIn, modelOf, textOf } from './rendered.ts';

const startMs = Date.UTC(2024, 1, 1);

const band: Band = {
  ...{ id: 7, startMs, endMs: startMs + 10 * dayMs, columns: 10 },
  layers: {
    tracked: [0, 9],
    covered: [0, 4, 6, 9],
    empty: [0, 1],
    gap: [4, 6],
    failed: [5, 6],
    queued: [6, 7],
    active: [7, 8],
  },
};

it('a band has the range of the same state around a column', () => {
  const at = (column: number) => {
    const found = segmentAt(band, column);
    return found === null ? null : [found.name, ...[found.startMs, found.endMs].map((ms) => (ms - startMs) / dayMs)];
  };
  expect([0, 2, 4, 5, 6, 7, 8, 9].map(at)).toEqual([
    ['confirmed empty', 0, 1],
    ['covered', 1, 4],
    ['gap', 4, 5],
    ['failed', 5, 6],
    ['queued', 6, 7],
    ['active', 7, 8],
    ['covered', 8, 9],
    null,
  ]);
  expect(segmentAt(band, 4)?.timeMs).toBe(startMs + 4.5 * dayMs);
  expect(rangeOf(band, [6, 4])).toEqual({ startMs: startMs + 4 * dayMs, endMs: startMs + 7 * dayMs });
});

const none: SeriesDetail = {
  ...{ id: 7, name: 'kraken bitcoin/euro h1', dataset: 'candles', interval: 'h1', fromMs: startMs, toMs: null },
  ...{
    panes: [],
    sources: ['kraken'],
    untrackedMs: null,
    unknown: null,
    earliestMs: null,
    newestMs: null,
    gapsInAll: 0,
  },
  ...{ gaps: [], fetches: [], revisions: [], rejections: [] },
};

it('the details say why a series is not asked for any more, where its source does not know it', () => {
  const text = (unknown: string | null) =>
    textOf(htmlOf(Parts, { detail: { ...none, untrackedMs: startMs, unknown }, nowMs: startMs, hold: null }));
  expect(text(null)).toContain('Not asked for any more since 2024-02-01. What is stored stays.');
  expect(text('no such market')).toContain('since 2024-02-01, as the source does not know it: no such market');
});

it('the details list gaps with links to their ranges, requests, revisions and rejected rows', () => {
  const gap = {
    startMs: startMs + 9 * dayMs,
    endMs: startMs + 11 * dayMs,
    cause: 'not_asked',
    message: null,
    source: null,
    retryAtMs: null,
  } as const;
  const refused = {
    ...gap,
    cause: 'failed',
    message: 'status 500',
    source: 'kraken',
    retryAtMs: startMs + dayMs,
  } as const;
  const fetched = {
    timeMs: startMs + 500,
    range: gap,
    lane: 'backfill',
    verdict: 'refused',
    fresh: 1,
    changed: 0,
    source: 'default',
    body: '{"data":[]}',
    ...{ rejected: 0, rejectedFor: null },
  };
  const raw = '</code><img src=x>';
  const detail = {
    ...{ ...none, gaps: [gap, refused], gapsInAll: 2 },
    fetches: [
      { ...fetched, durationMs: 1234, error: 'no such market' },
      { ...fetched, range: null, durationMs: 1, error: null, source: 'kraken' },
      { ...fetched, durationMs: 2, error: null, rejected: 2, rejectedFor: 'open is null' },
    ],
    revisions: [{ timeMs: startMs, seenAtMs: startMs + dayMs, before: { close: '1.10', volume: '7' } }],
    rejections: [{ seenAtMs: startMs, reason: 'open is null', raw }],
  };
  const html = htmlOf(Parts, { detail, nowMs: startMs, hold: null });
  expect(html).not.toContain('<img');
  const text = textOf(html);
  for (const row of [
    '2 gaps, cut where the reason changes; each opens its range',
    '2024-02-10 | 2024-02-12 | 2 d | awaits a request |',
    '2024-02-10 | 2024-02-12 | 2 d | failed at kraken: status 500 (again at 2024-02-02) |',
    '2024-02-01 | 2024-02-10 | 2024-02-12 | backfill | refused: no such market | 1 | 0 | 0 | 1,234 ms |',
    '2024-02-01 | | | backfill of kraken | refused: {"data":[]} | 1 | 0 | 0 | 1 ms |',
    '2024-02-01 | 2024-02-10 | 2024-02-12 | backfill | refused: 2 rows rejected: open is null: {"data":[]} | 1 | 0 | 2 | 2 ms |',
    '2024-02-01 | 2024-02-02 | close 1.10, volume 7 |',
    `2024-02-01 | open is null | ${raw} |`,
  ])
    expect(text.split('\n')).toContain(row);
  expect(linksIn(html)).toEqual({
    '2024-02-10': './?series=7&from=2024-02-10&to=2024-02-12&since=2024-02-10&until=2024-02-12#chosen',
  });
  expect(linesOf(Parts, { detail: { ...detail, gapsInAll: 3000 }, nowMs: startMs, hold: null })).toContain(
    'The newest 2 of 3,000',
  );
  const held = linesOf(Parts, { detail, nowMs: startMs, hold: 'kraken is resumed' });
  expect(held).toContain('2024-02-10 | 2024-02-12 | 2 d | waits until kraken is resumed |');
});

describe('the values of the chart', () => {
  const row = [startMs, '1.10', '1.30', '1.00', '1.20', '64321.123456789012345678'] as const;
  const names = ['open', 'high', 'low', 'close', 'volume'];

  it('are the stored text, and say why there is none', () => {
    const text = (of: Partial<Pointed>) => {
      const pointed = { timeMs: startMs, row: null, change: null, names, state: 'gap', beside: [], ...of };
      return textOf(htmlOf(PointedValues, { pointed, zone: 'utc' }));
    };
    expect(text({ row: [...row] })).toBe(
      '2024-02-01: open 1.10 · high 1.30 · low 1.00 · close 1.20 · volume 64321.123456789012345678',
    );
    expect(text({})).toBe('2024-02-01: no value, gap');
    const change = { text: '−0.10 (−7.69 %)', isDown: true };
    expect(text({ row: [startMs, '1.20'], names: ['price_usd'], change })).toBe('2024-02-01: 1.20 · −0.10 (−7.69 %)');
    const event = (annual: string | null) =>
      text({ row: [startMs, '-0.0001', annual], names: ['rate', 'annual_rate'] });
    expect([event('-0.1095'), event(null)]).toEqual([
      ...['2024-02-01: rate -0.0001 · annual rate -0.1095', '2024-02-01: rate -0.0001'],
    ]);
  });

  it('are a table with the newest first', () => {
    const view = { panes: [], interval: 'h1', startMs, endMs: startMs, gaps: 0 };
    const candles = linesOf(ValueTable, { view: { ...view, kind: 'candles', names, rows: [[...row]] }, zone: 'utc' });
    expect(candles).toEqual([
      ...['On screen, newest first', 'Time | open | high | low | close | volume |'],
      '2024-02-01 | 1.10 | 1.30 | 1.00 | 1.20 | 64321.123456789012345678 |',
    ]);
  });

  const piece = (from: number, to: number, of: Partial<Piece> = {}): Piece => ({
    ...{ kind: 'candles', names, sampled: false, interval: 'h1', periodMs: 1, startMs: from, endMs: to, shades: [] },
    rows: new Map(Array.from({ length: to - from }, (_, place) => [from + place, [from + place, `${from}`] as const])),
    ...of,
  });

  it('of a new piece replace those of the loaded one, as far as they touch', () => {
    const layer = 'gap' as const;
    const held = piece(10, 20, { shades: [{ layer, startMs: 12, endMs: 20 }] });
    const joined = joinPieces(held, piece(15, 30));
    expect([joined.startMs, joined.endMs, joined.rows.size]).toEqual([10, 30, 20]);
    expect([joined.rows.get(14)?.[1], joined.rows.get(15)?.[1]]).toEqual(['10', '15']);
    expect(joined.shades).toEqual([{ layer, startMs: 12, endMs: 15 }]);
    for (const other of [
      piece(21, 30),
      piece(0, 9),
      piece(15, 30, { interval: 'd1' }),
      piece(15, 30, { kind: 'line' }),
    ])
      expect(joinPieces(held, other)).toBe(other);
  });
});

it('has a legend of a comparison, or says why it shows nothing', () => {
  const span = (of: Partial<Span> = {}): Span => ({
    ...{ startMs, endMs: startMs + dayMs, first: '2', last: '3' },
    ...of,
  });
  const legend = (own: Span | null, other = span(), comparedState = 'loaded') => {
    const chart = { comparedState, comparison: () => (own === null ? null : { own, other }) };
    const props = { chart: chart as unknown as PriceChart, own: 'own', name: 'other', zone: 'utc' } as const;
    return linesOf(ComparedLegend, props);
  };
  const own = ['own | 150.00', 'other | 250.00', '100 at | 2024-02-01, until 2024-02-02'];
  expect(legend(span(), span({ last: '5' }))).toEqual(own);
  const later = span({ last: '5', startMs: startMs + 1 });
  expect(legend(span(), later)).toEqual([...own, expect.stringMatching(/^other from \| .* to 2024-02-02$/)]);
  expect(legend(null)).toEqual(['other has no value at the times and interval of the screen.']);
  expect(legend(null, span(), 'loading')).toEqual(['other is loading.']);
  expect(legend(null, span(), 'failed')).toEqual(['other is not loaded.']);
});

const found: SeriesRange = {
  ...{ startMs, endMs: startMs + 10 * dayMs, wantedMs: 0, coveredMs: 0, gaps: [], gapsInAll: 0 },
  ...{ silences: [], confirmed: [], fetches: [], others: [], sql: '' },
};

it('a range says what of it is wanted, in the future or not tracked', () => {
  const detail = { ...none, fromMs: startMs, toMs: startMs + 20 * dayMs };
  const said = (of: Partial<SeriesRange>, nowMs = startMs + 30 * dayMs) => factsOf({ ...found, ...of }, detail, nowMs);
  expect(said({}, startMs - dayMs)).toBe('lies in the future');
  expect(said({ startMs: startMs - 20 * dayMs, endMs: startMs })).toBe('not tracked');
  expect(said({ startMs: startMs + 20 * dayMs, endMs: startMs + 21 * dayMs })).toBe('not tracked');
  expect(said({}, startMs + 1)).toBe('no period has closed yet');
  expect(said({ wantedMs: 10 * dayMs, coveredMs: 10 * dayMs })).toBe('100 % covered · no gap');
  expect(said({ wantedMs: 4 * dayMs, coveredMs: 3 * dayMs, gapsInAll: 2 })).toBe(
    '4 d of it tracked and closed · 75.00 % covered · 2 gaps of 1 d',
  );
  // The same length in words is not said twice.
  const most = { endMs: startMs + 37 * hourMs + 20 * minuteMs, wantedMs: 37 * hourMs, coveredMs: 37 * hourMs };
  expect(said(most)).toBe('100 % covered · no gap');
});

it('a range that nobody has requested says so, what it waits for, and has no points to download', () => {
  const gap = {
    startMs,
    endMs: startMs + 10 * dayMs,
    cause: 'not_asked',
    message: null,
    source: null,
    retryAtMs: null,
  };
  const missing: SeriesRange = { ...found, wantedMs: 10 * dayMs, gaps: [{ ...gap, cause: 'not_asked' }], gapsInAll: 1 };
  const said = (of: Partial<SeriesRange>, hold: string | null = null, again: string | null = null) =>
    linesOf(
      FoundRange,
      { detail: none, found: { ...missing, ...of }, zone: 'utc' },
      {
        model: modelOf([], { sources: [{ name: 'kraken', text: '', isPaused: false, isLowered: false, hold, again }] }),
      },
    );
  const why = '2024-02-01 | 2024-02-11 | 10 d |';
  expect(said({})).toEqual(
    expect.arrayContaining([
      `${why} awaits a request |`,
      'None of it has been requested, as far as the ledger goes back.',
    ]),
  );
  expect(said({}).join()).not.toContain('CSV');
  expect(said({}, 'kraken answers')).toContain(`${why} waits until kraken answers |`);
  const failed = { ...missing.gaps[0], cause: 'failed', message: 'no answer', source: 'kraken' } as const;
  const again = 'from 12:00Z on';
  expect(said({ gaps: [failed] as SeriesRange['gaps'] }, null, again)).toContain(
    `${why} failed at kraken: no answer (again ${again}) |`,
  );
  const covered = said({ coveredMs: 10 * dayMs, gaps: [], gapsInAll: 0 });
  expect(covered.join(' ')).toMatch(/Download its points as CSV *, at most 240 rows, no request/);
  expect(covered).toContain(
    'No request for it is recorded: it was imported, or its requests are older than the ledger.',
  );
});

it('a range is compared first with a source that is known to have the series, and with none of the others unless chosen', () => {
  const okx = { name: 'okx', isKnown: true };
  const other = { name: 'default', isKnown: false };
  const shown = (others: SeriesRange['others']) => {
    const html = htmlOf(FoundRange, { detail: none, found: { ...found, others }, zone: 'utc' });
    return [/selected[^>]*>([^<]*)/.exec(html)?.[1], ...textOf(html).matchAll(/^Verify against .*$/gm)].map(String);
  };
  expect(shown([okx, other])).toEqual(['okx', 'Verify against okx']);
  expect(shown([other])).toEqual(['choose one']);
  const html = htmlOf(FoundRange, { detail: none, found: { ...found, others: [okx, other] }, zone: 'utc' });
  expect(html).toMatch(/label="Have the series">.*okx.*label="May have it">.*default/s);
});

it('a range has its times in the zone of the chart', () => {
  const of = { detail: none, zone: 'Asia/Kolkata' };
  const range = { startMs, endMs: startMs + dayMs };
  const [title] = linesOf(ChosenRange, { ...of, range, onClose: () => {} });
  expect(title).toBe('2024-02-01 05:30+05:30 to 2024-02-02 05:30+05:30');
  const gap = { ...range, cause: 'failed', message: 'HTTP 500', source: null, retryAtMs: startMs + dayMs } as const;
  const answers = [{ timeMs: startMs + 1500, verdict: 'empty', source: 'kraken' }] as const;
  const fetched = { ...{ timeMs: startMs + 61_500, range, lane: 'backfill', verdict: 'filled', fresh: 1, changed: 0 } };
  const lines = linesOf(FoundRange, {
    ...of,
    found: {
      ...{ ...found, ...range, wantedMs: dayMs, gaps: [gap], gapsInAll: 1 },
      silences: [{ ...range, proof: 'whole' }],
      confirmed: [{ ...range, answers: [...answers, ...answers], answeredMs: null }],
      fetches: [
        { ...fetched, rejected: 0, rejectedFor: null, durationMs: 1, error: null, body: null, source: 'default' },
      ],
    },
  });
  const times = '2024-02-01 05:30+05:30 | 2024-02-02 05:30+05:30';
  const answered = '2024-02-01 05:30:01+05:30 (empty)';
  expect(lines).toEqual(
    expect.arrayContaining([
      `${times} | 1 d | failed: HTTP 500 (again at 2024-02-02 05:30+05:30) |`,
      `${times} | 1 d | whole |`,
      `${times} | 1 d | confirmed empty by the answers of ${answered} and ${answered} |`,
      `2024-02-01 05:31:01+05:30 | ${times} | backfill | filled | 1 | 0 | 0 | 1 ms |`,
    ]),
  );
});

it('keeps the name of a mark within the pane of the chart', () => {
  expect([10, 480, 900].map((x) => nameWithin(x, 40, 500))).toEqual([10, 457, 457]);
  expect(nameWithin(5, 40, 20)).toBe(0);
});
