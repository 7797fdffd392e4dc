/** The words, states, order and links of the overview, and of the state above every view. */

import { describe, expect, it } from 'vitest';
import { Status } from '../../../dashboard/page/app.tsx';
import { BeginHere } from '../../../dashboard/page/overview/begin-here.tsx';
import { Matrix } from '../../../dashboard/page/overview/matrix.tsx';
import { Requests } from '../../../dashboard/page/overview/minute.tsx';
import { Overview } from '../../../dashboard/page/overview/overview.tsx';
import { SeriesList } from '../../../dashboard/page/overview/series-list.tsx';
import { RefusalList, Sources } from '../../../dashboard/page/overview/sources.tsx';
import { Tiles } from '../../../dashboard/page/overview/tiles.tsx';
import { CalendarSection } from '../../../dashboard/page/parts/calendar.tsx';
import { find } from '../../../dashboard/page/parts/finder.tsx';
import { State } from '../../../dashboard/page/parts/headline.tsx';
import { changeBudget } from '../../../dashboard/page/parts/source-orders.tsx';
import type { BackfillLine, SeriesLine } from '../../../dashboard/shapes.ts';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import type { Headline } from '../../../planning/conditions.ts';
import { quietSummary, seriesLine } from '../lines.ts';
import { htmlOf, linesOf, linksIn, modelOf, textOf } from './rendered.ts';

const nowMs = Date.UTC(2024, 3, 1);
const incomplete = { coveredMs: 50 * hourMs, missingMs: 50 * hourMs, gaps: 1, requestsLeft: 1 };
const named = (name: string, of: Partial<SeriesLine> = {}) => seriesLine({ name: `kraken ${name}/euro h1`, ...of });

describe('the state above every view', () => {
  const headline = (text: string, of: Partial<Headline> = {}): Headline => ({
    ...{ kind: 'healthy', level: 'ok', text, source: null, list: null, command: null, ...of },
  });

  it('has the headline with its list and command, and what else is to be known', () => {
    const away = headline('no worker is connected', { level: 'bad', list: 'queue', command: 'tidemark run' });
    const also = [
      headline('2 ranges failed', { level: 'bad', list: 'failing' }),
      headline('1 came back empty', { list: 'awaiting' }),
    ];
    const state = { headline: away, also, left: 0, requests: 0, wantedMs: 0, coveredMs: 0, etaMs: null, waiting: null };
    const model = modelOf([], { state });
    const html = htmlOf(State, {}, { model });
    expect(html).toMatch(/class="headline" role="status" data-level="bad"/);
    expect(textOf(html)).toBe(
      'No worker is connected. Show the requests tidemark run\n\n' +
        '2 ranges failed. Show the failing ranges\n1 came back empty. Show the series asked again',
    );
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      './#budget',
      './?view=problems#part-failing',
      './?filter=awaiting#series',
    ]);
    expect(linesOf(State, {}, { model, isNarrow: true })).toContain('2 more');
    const milder = { ...state, headline: headline('it accepts no request', { kind: 'banned', level: 'waiting' }) };
    const more = linesOf(State, {}, { model: modelOf([], { state: milder }), isNarrow: true });
    expect(more).toContain('2 more, 1 of them bad');
  });

  it('ends a sentence of a source, which has its own full stop, with one', () => {
    const texts = ['banned: use a key to avoid bans.', 'is it away?', 'one more'].map((text) => headline(text));
    const [first = headline(''), ...also] = texts;
    const state = {
      headline: first,
      also,
      left: 0,
      requests: 0,
      wantedMs: 0,
      coveredMs: 0,
      etaMs: null,
      waiting: null,
    };
    expect(linesOf(State, {}, { model: modelOf([], { state }) }).filter((text) => text !== '')).toEqual([
      ...['Banned: use a key to avoid bans.', 'Is it away?', 'One more.'],
    ]);
  });

  it('says in place of it that the database is away, and how old the figures are', () => {
    const model = modelOf([], {
      state: {
        headline: headline('up to date'),
        also: [headline('x')],
        left: 0,
        requests: 0,
        wantedMs: 0,
        coveredMs: 0,
        etaMs: null,
        waiting: null,
      },
    });
    expect(linesOf(State, {}, { model })).toEqual(['Up to date.', '', 'X.']);
    model.takeTrouble({ message: 'none', headline: headline('the database does not answer') });
    expect(linesOf(State, {}, { model })).toEqual(['The database does not answer.', 'The figures are 0 s old.']);
  });

  it('says whether the page is connected, and that data are synthetic', () => {
    const model = modelOf([], { nowMs, synthetic: true });
    expect(linesOf(Status, {}, { model })).toEqual(['synthetic dataLive']);
    const since = ' Showing the state as of 2024-04-01.';
    for (const [connection, words] of [
      ['connecting', 'Connecting.'],
      ['lost', 'Not connected, trying again.'],
      ['paused', 'Not connected while the page is hidden.'],
      ['trouble', 'The store cannot be read.'],
    ] as const) {
      model.setConnection(connection);
      expect(linesOf(Status, {}, { model })).toEqual([`synthetic data${words}${since}`]);
    }
  });
});

it('tells how to begin where nothing is tracked', () => {
  const model = modelOf();
  const text = textOf(htmlOf(Overview, {}, { model }));
  for (const words of ['Begin here', 'No series is tracked.', 'No list is polled.']) expect(text).toContain(words);
  expect([...htmlOf(BeginHere, {}).matchAll(/<code>(.*?)<\/code>/g)].map(([, command]) => command)).toEqual([
    'npx tidemark sources',
    expect.stringMatching(/^npx tidemark backfill candles .* --dry-run$/),
    expect.stringMatching(/^npx tidemark backfill candles .* 1y$/),
  ]);
  expect(textOf(htmlOf(Overview, {}, { model: modelOf([seriesLine()]) }))).not.toContain('Begin here');
});

it('has a figure for each list, which its link opens', () => {
  const queue = { waiting: 7, active: 2, delayed: 0, workers: 3, pauses: [] };
  const tiles = (lines: readonly SeriesLine[], summary = {}) =>
    linesOf(Tiles, { lines, summary: { ...quietSummary, ...summary } }).join('; ');
  const figures = tiles([seriesLine(), seriesLine({ id: 2, ...incomplete, behindMs: 2 * hourMs, revised: 3 })], {
    ...{ queue, rejected: 1 },
  });
  expect(figures).toBe(
    'Series | 2, 1 complete; Late | 1, by 2 h; Failing | none; Rejected rows | 1 without a point; ' +
      'Revised | 3 values; Queue | 7 queued, 2 active, 3 workers; Source | normal',
  );
  expect(tiles([])).toContain('Rejected rows | none without a point; ');
  const paused = (...pauses: [source: string, pausedMs: number][]) => {
    const ofEach = pauses.map(([source, pausedMs]) => ({ source, pausedMs }));
    return /workers(?:, )?(.*?);/.exec(tiles([], { queue: { ...queue, pauses: ofEach } }))?.[1];
  };
  expect(paused(['default', 84_000])).toBe('paused for 1 min 24 s');
  expect(paused(['default', 0], ['binance', 84_000])).toBe('binance paused for 1 min 24 s');
  expect(paused(['default', 1500], ['okx', 900])).toBe('');
  expect(paused(['default', 60_000], ['binance', 84_000])).toBe('paused for 1 min');
  expect(paused(['default', 60_000], ['binance', 84_000], ['okx', 0])).toBe(
    'the default source paused for 1 min, binance paused for 1 min 24 s',
  );
  expect(paused(['default', 0], ['a', 3000], ['b', 3000], ['c', 3000])).toBe('3 of 4 sources paused');
  const links = linksIn(htmlOf(Tiles, { lines: [], summary: quietSummary }));
  expect(links).toMatchObject({ Late: './?filter=behind#series', 'Rejected rows': './?view=problems#part-quarantine' });
});

it('says that the source is paused while all requests are', () => {
  const headline = (kind: Headline['kind']): Headline => ({
    ...{ kind, level: 'waiting', text: '', source: null, list: null, command: null },
  });
  const source = (kind: Headline['kind'], ...also: Headline['kind'][]) => {
    const state = { ...quietSummary.state, headline: headline(kind), also: also.map(headline) };
    return linesOf(Tiles, { lines: [], summary: { ...quietSummary, state } }).at(-1);
  };
  expect(source('healthy')).toBe('Source | normal');
  expect(source('paused')).toBe('Source | paused');
  expect(source('no_worker', 'paused')).toBe('Source | paused');
  expect(source('source_away', 'paused')).toBe('Source | away');
});

it('names the sources that are paused or away, where others are not', () => {
  const line = { text: '', isPaused: false, isLowered: false, hold: null, again: null };
  const words = (paused: readonly string[], among: readonly string[], kind: Headline['kind'] = 'source_paused') => {
    const [headline, ...also] = paused.map(
      (source): Headline => ({ ...{ kind, level: 'waiting', text: '', source, list: null, command: null } }),
    );
    const state = { ...quietSummary.state, headline: headline ?? quietSummary.state.headline, also };
    const summary = { ...quietSummary, state, sources: among.map((name) => ({ ...line, name })) };
    return linesOf(Tiles, { lines: [], summary }).at(-1);
  };
  const all = ['default', 'kraken', 'okx', 'bybit'];
  expect(words(['kraken'], all)).toBe('Source | kraken paused');
  expect(words(['default', 'kraken'], all)).toBe('Source | the default source and kraken paused');
  expect(words(['default', 'kraken', 'okx'], all)).toBe('Source | 3 of 4 sources paused');
  expect(words(['kraken'], all, 'source_away')).toBe('Source | kraken away');
  expect(words(['kraken'], ['kraken'])).toBe('Source | paused');
  expect(words(all, all)).toBe('Source | paused');
});

it('the requests of a minute are counted by answer and source, and say what came of each', () => {
  const timeMs = Date.UTC(2024, 1, 1, 12, 3, 7, 500);
  const one = {
    ...{ timeMs, seriesId: 7, name: 'kraken a/b h1', range: null, lane: 'backfill', verdict: 'filled', status: 200 },
    ...{ fresh: 24, changed: 1, rejected: 0, rejectedFor: null, durationMs: 1234, error: null, body: null },
    source: 'default',
  };
  const requests = [
    one,
    { ...one, verdict: 'unreadable', fresh: 0, rejected: 2, rejectedFor: 'open is null', body: '{"data":[]}' },
    { ...one, verdict: 'timeout', status: null, error: 'no answer', seriesId: null, name: 'rates', source: 'kraken' },
  ];
  const counts = [
    { source: 'default', verdict: 'filled', requests: 3 },
    { source: 'kraken', verdict: 'filled', requests: 1 },
    { source: 'default', verdict: 'unreadable', requests: 1 },
  ];
  const found = { startMs: timeMs, endMs: timeMs, counts, requests };
  const html = htmlOf(Requests, { found });
  expect(textOf(html).split('\n')).toEqual([
    '5 requests. By answer: 4 filled, 1 unreadable. By source: 4 default, 1 kraken.',
    'The newest 3 of 5',
    'At | Series or list | From | To | For | Verdict | New | Changed | Rejected | Took | HTTP |',
    '2024-02-01 12:03:07Z | kraken a/b h1 | | | backfill | filled | 24 | 1 | 0 | 1,234 ms | 200 |',
    '2024-02-01 12:03:07Z | kraken a/b h1 | | | backfill | ' +
      'unreadable: 2 rows rejected: open is null: {"data":[]} | 0 | 1 | 2 | 1,234 ms | 200 |',
    '2024-02-01 12:03:07Z | rates | | | backfill of kraken | timeout: no answer | 24 | 1 | 0 | 1,234 ms | |',
  ]);
  expect(linksIn(html)).toEqual({ 'kraken a/b h1': './?series=7' });
  expect(linesOf(Requests, { found: { ...found, counts: [], requests: [] } })).toEqual(['None is recorded.']);
});

it('takes the limit of a source from no text but a number', () => {
  expect(changeBudget('okx', '30')).toMatchObject({ body: { source: 'okx', perMinute: 30 } });
  for (const text of ['', '30 a minute', '3e1', '0x1e', '1.5', '-3', '0', '1000001', 'NaN']) {
    const { body, problem } = changeBudget('okx', text);
    expect([text, body, problem]).toEqual([
      text,
      { source: 'okx' },
      'give a whole number of requests a minute, from 1 to 1,000,000',
    ]);
  }
});

it('has a panel for each source, and what each refused', () => {
  const source = {
    name: 'kraken',
    text: '3 of 30 requests in the last minute',
    isPaused: false,
    isLowered: true,
    hold: null,
    again: null,
  };
  const sources = [source, { ...source, name: 'okx', text: 'paused since 2024-02-01' }];
  expect(linesOf(Sources, { sources })).toEqual([
    'Sources',
    'kraken: 3 of 30 requests in the last minute',
    'okx: paused since 2024-02-01',
  ]);
  const timeMs = Date.UTC(2024, 1, 1);
  const refusal = { timeMs, kind: 'rate_limited', status: 429, series: 'kraken a/b h1', message: '<b>slow' };
  const found = [
    { ...refusal, range: { startMs: timeMs - dayMs, endMs: timeMs } },
    { ...refusal, status: null, series: null, range: null },
  ];
  expect(linesOf(RefusalList, { found }).slice(-2)).toEqual([
    '2024-02-01 | rate_limited (429) | kraken a/b h1 | 2024-01-31 | 2024-02-01 | <b>slow |',
    '2024-02-01 | rate_limited | | | | <b>slow |',
  ]);
  expect(linesOf(RefusalList, { found: [] })).toEqual(['It has refused no request in the ledger.']);
});

it('the matrix has the share and the number of series of each exchange and interval, and opens them', () => {
  const model = modelOf([
    seriesLine({ coveredMs: 98.68 * hourMs }),
    seriesLine({ id: 2, interval: 'd1', periodMs: dayMs }),
    seriesLine({ id: 3, exchange: null, coveredMs: 0, failedMs: 1, awaitingMs: 1, behindMs: 1 }),
    seriesLine({ id: 4, exchange: 'exchange-10', wantedMs: 0, coveredMs: 0 }),
    seriesLine({ id: 5, exchange: 'exchange-9' }),
  ]);
  const html = htmlOf(Matrix, {}, { model });
  expect(textOf(html).split('\n').slice(2)).toEqual([
    'Exchange | h1 | d1 |',
    'assets | 0.00 %11 failing | |',
    'exchange-9 | 100 %1 | |',
    'exchange-10 | none yet1 | |',
    'kraken | 98.68 %1 | 100 %1 |',
  ]);
  expect(linksIn(html)).toMatchObject({
    '98.68 %1': './?exchange=kraken&interval=h1#series',
    kraken: './?exchange=kraken#series',
  });
});

describe('the list of series', () => {
  const rowsOf = (model: ReturnType<typeof modelOf>, search = '', isNarrow = false) =>
    linesOf(SeriesList, {}, { model, search, isNarrow }).filter((text) => /^[^|]+\/[^|]+ \|/.test(text));
  const namesOf = (...parts: Parameters<typeof rowsOf>) => rowsOf(...parts).map((row) => row.split(' | ')[0]);
  const short = (names: readonly (string | undefined)[]) => names.map((name) => name?.split(/[ /]/)[1]).join();

  it('has a row with the figures and the note of each series', () => {
    const line = named('bitcoin', { newestMs: nowMs - hourMs, readMs: nowMs - 10_000 });
    const rows = (of: Partial<SeriesLine>) => rowsOf(modelOf([{ ...line, ...of }], { nowMs })).join();
    expect(rows({})).toBe('kraken bitcoin/euro h1 | | 100 % | nothing | read 10 s ago | |');
    expect(rows({ silentSinceMs: 17 * hourMs })).toContain('| silent since 1970-01-01 17:00Z, asked 10 s ago | |');
    expect(rows({ toMs: nowMs, readMs: null, newestMs: 17 * hourMs })).toContain('| nothing | 1970-01-01 17:00Z | |');
    expect(rows({ ...incomplete, behindMs: 2 * hourMs, newestMs: null, queued: 13, active: 2 })).toBe(
      'kraken bitcoin/euro h1 | | 50.00 % | 2 d 2 h in 1 gap | behind by 2 periods | 13 queued, 2 active |',
    );
    const failed = { failedMs: 3 * hourMs, beyondDepthMs: hourMs, awaitingMs: hourMs, emptyMs: hourMs, revised: 4 };
    expect(rows(failed)).toContain(
      '| 2 h failed, 1 h beyond the depth of its source, no data for 2 h: 1 h confirmed, 1 h asked once, 4 revised',
    );
  });

  const mixed = modelOf(
    [
      named('a10', { id: 1, requestsLeft: 1, missingMs: 5, gaps: 1, behindMs: 2, newestMs: 1 }),
      named('a9', { id: 2, requestsLeft: 1, missingMs: 9, gaps: 7, behindMs: 2, failedMs: 3 }),
      named('b', { id: 3, revised: 4, blocked: 'x' }),
      seriesLine({ id: 4, exchange: null, name: 'asset c/d1', interval: 'd1', awaitingMs: 1 }),
    ],
    { nowMs },
  );

  it.each([
    ['', 'a9,a10,c,b'],
    ['?sort=behind', 'a10,a9,c,b'],
    ['?sort=failed', 'b,a9,c,a10'],
    ['?sort=name', 'c,a9,a10,b'],
    ['?filter=failing', 'a9,b'],
    ['?filter=behind', 'a9,a10'],
    ['?filter=complete', 'c,b'],
    ['?exchange=kraken&sort=name', 'a9,a10,b'],
    ['?interval=d1', 'c'],
    ['?find=EURO+a1', 'a10'],
  ])('orders and filters by the address: %s', (search, names) => {
    expect(short(namesOf(mixed, search))).toBe(names);
  });

  it('is found by whole words first, with actions of series where one is named, and those of sources', () => {
    const kraken = {
      ...{ name: 'kraken', text: '', isPaused: true, isLowered: true, hold: 'kraken is resumed', again: null },
    };
    const model = modelOf(
      ['binance bitcoin/tether m15', 'binance bitcoin/tether m1', 'kraken bitcoin/euro m1'].map((name, id) =>
        seriesLine({ name, id: id + 1 }),
      ),
      { sources: [kraken] },
    );
    const names = (typed: string) =>
      find(model, [['events', 'Events']], typed, '').found.map(({ kind, name }) => `${kind} ${name}`);
    expect(names('bit m1')).toEqual([
      'series binance bitcoin/tether m1',
      'series kraken bitcoin/euro m1',
      'series binance bitcoin/tether m15',
    ]);
    expect(names('untr kraken')).toEqual(['action Untrack: kraken bitcoin/euro m1']);
    expect(names('kraken')).toEqual([
      'action Resume kraken',
      'action Change the budget of kraken',
      'action Reset the budget of kraken',
      'series kraken bitcoin/euro m1',
    ]);
    expect(names('budg')).toEqual(['action Change the budget of kraken', 'action Reset the budget of kraken']);
    // As its button in the list of sources does.
    const running = modelOf([], { sources: [{ ...kraken, isPaused: false }] });
    expect(find(running, [], 'pause kraken', '').found).toMatchObject([
      { action: { confirm: 'Pause kraken, on all machines?' } },
    ]);
    expect(names('')).toEqual([
      'view Events',
      'action Retry all now',
      'action Pause',
      'action Resume',
      'action Track a market',
      'action Cancel a backfill',
      'action Resume kraken',
      'action Change the budget of kraken',
      'action Reset the budget of kraken',
    ]);
    expect(find(model, [], 'track', '').found).toEqual([{ kind: 'action', name: 'Track a market', href: './#track' }]);
  });

  it('is found with what cancels each backfill that can be, or leads to their list', () => {
    const line: BackfillLine = {
      ...{
        id: 7,
        kind: 'backfill',
        askedMs: 0,
        by: 'ann@host',
        state: 'running',
        names: ['binance bitcoin/tether h1'],
      },
      ...{ series: 3, fromMs: 0, toMs: 1, progress: '2 of 9 requests to go', left: 2, etaMs: null, result: null },
      ...{ endedMs: null, answers: null },
    };
    const of = (typed: string, lines: readonly BackfillLine[]) => find(modelOf([]), [], typed, '', lines).found;
    const list = { kind: 'action', name: 'Cancel a backfill', href: './?view=backfills' };
    expect(of('cancel', [])).toEqual([list]);
    expect(
      of('cancel', [
        { ...line, kind: 'watch_list' },
        { ...line, progress: null },
      ]),
    ).toEqual([list]);
    const [one, ...more] = of('cancel', [line]);
    expect(one).toMatchObject({
      name: 'Cancel backfill 7 (binance bitcoin/tether h1 and 2 more)',
      action: { action: 'cancel', body: { backfill: 7 }, command: 'npx tidemark backfills cancel 7' },
    });
    expect(more).toEqual([]);
    expect(of('cancel tether', [line])).toHaveLength(1);
  });

  it('shows fifty series at a time, on a narrow screen twenty, and the page of the address', () => {
    const thousand = modelOf(
      Array.from({ length: 1000 }, (_, id) => named(`a${id}`, { id, requestsLeft: id % 7 })),
      { nowMs },
    );
    const status = (search: string, isNarrow = false) =>
      linesOf(SeriesList, {}, { model: thousand, search, isNarrow }).find((text) => /^\d.* series$/.test(text));
    expect(namesOf(thousand)).toHaveLength(50);
    expect(status('')).toBe('1 to 50 of 1,000 series');
    expect(status('?page=2')).toBe('51 to 100 of 1,000 series');
    expect(status('', true)).toBe('1 to 20 of 1,000 series');
    const first = named('a6').name;
    expect([namesOf(thousand)[0], namesOf(thousand, '?page=2&sort=name')[0]]).toEqual([first, named('a50').name]);
  });

  it('offers actions on those that it shows, and none where it shows none', () => {
    const acts = (search: string) =>
      linesOf(SeriesList, {}, { model: mixed, search }).filter((text) => text.startsWith('Act on'));
    expect([acts(''), acts('?find=a10'), acts('?find=none')]).toEqual([
      ['Act on these 4 series'],
      ['Act on this series'],
      [],
    ]);
  });

  it('shows names as text', () => {
    const name = '<img src=x onerror="window.hit=1">';
    const html = htmlOf(SeriesList, {}, { model: modelOf([seriesLine({ name, blocked: name })]) });
    expect(html).not.toContain('<img');
    expect(textOf(html)).toContain(name);
    expect(textOf(html)).toContain(`refused by the source: ${name}`);
  });
});

const month = (place: number, coveredMs: number, of = {}) => ({
  ...{ startMs: Date.UTC(2024, place), wantedMs: 100, coveredMs, failed: false, awaiting: false, silent: false, ...of },
});
const loaded = (...months: ReturnType<typeof month>[]) => ({ kind: 'loaded' as const, value: { months } });

it('the calendar has a row for each year, the newest first, and a cell for each month', () => {
  const html = htmlOf(CalendarSection, {
    seriesId: 7,
    loaded: loaded(
      month(-1, 100, { silent: true }),
      month(0, 64),
      month(1, 0, { failed: true, awaiting: true }),
      month(2, 0, { wantedMs: 0 }),
    ),
  });
  const rows = textOf(html).split('\n');
  expect(rows.filter((text) => text.startsWith('20'))).toEqual([
    expect.stringMatching(/^2024 \| 64\.00 % \| 0\.00 % \|[ |]+$/),
    expect.stringMatching(/^2023 \|[ |]+ 100 % \|$/),
  ]);
  expect([...html.matchAll(/data-state="(\w+)"/g)].map(([, state]) => state)).toEqual(['gap', 'failed', 'silent']);
  expect(html).toContain('title="2024-02: 0.00 %, a part failed, a part came back empty, and is asked again"');
  // Each month of a series opens its range.
  expect(linksIn(html)['64.00 %']).toBe(
    './?series=7&from=2024-01-01&to=2024-02-01&since=2024-01-01&until=2024-02-01#chosen',
  );
  expect(linksIn(htmlOf(CalendarSection, { seriesId: null, loaded: loaded(month(0, 64)) }))).toEqual({});
});
