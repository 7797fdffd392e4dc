import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { hourMs, minuteMs } from '../../../contract/intervals.ts';
import type { Candle } from '../../../contract/resources.ts';
import type { CandleSeries } from '../../../contract/series.ts';
import { commitProbe } from '../../../store/commit/commit-probe.ts';
import { commitWindow } from '../../../store/commit/commit-windows.ts';
import { deferWindow } from '../../../store/commit/deferred-windows.ts';
import { acceptEmptyAnswers } from '../../../store/commit/empty-answers.ts';
import type { WindowCommit } from '../../../store/commit/prepare-window.ts';
import type { Database } from '../../../store/db/database.ts';
import { countFetchesSince } from '../../../store/ledger/ledger.ts';
import { countRejected, readQuarantined } from '../../../store/ledger/quarantine.ts';
import { consumeResults } from '../../../store/recheck/command-results.ts';
import { readOldEmptyRanges } from '../../../store/recheck/reread.ts';
import { listGaps, seriesWithGaps } from '../../../store/series/gaps.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const minute = (index: number) => startMs + index * minuteMs;
const window = { startMs, endMs: minute(60) };
const nowMs = startMs + 10 * hourMs;

function candle(index: number, close = `1.${index}000`): Candle {
  const value = decimalText(close);
  return {
    open: value,
    high: value,
    low: value,
    close: value,
    volume: decimalText('0.0000000000000001'),
    period: minute(index),
  };
}
const upTo = (count: number) => Array.from({ length: count }, (_, index) => candle(index));

onEachDatabase('commitWindow', (kind) => {
  let store: TestStore;
  let database: Database;
  let seriesId: number;
  let market = 0;
  let series: CandleSeries;

  beforeAll(async () => {
    store = await openTestStore(kind);
    database = store.database;
  });
  afterAll(() => store.close());
  beforeEach(async () => {
    market++;
    series = {
      dataset: 'candles',
      exchange: 'x',
      baseId: `base-${market}`,
      quoteId: 'tether',
      interval: 'm1',
    };
    ({ seriesId } = await trackSeries(database, series, window.startMs, window.endMs));
    // Larger answers of other tests would count against a cap.
    await database.pool.query('update tidemark.series set most_rows = 0');
  });

  function commit(rows: readonly Candle[], more: Partial<WindowCommit> = {}) {
    return commitWindow(database, {
      seriesId,
      series,
      window,
      lane: 'backfill',
      attempt: 1,
      answer: { rows, rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 10, durationMs: 1 },
      nowMs,
      graceMs: minuteMs,
      emptyConfirmMs: hourMs,
      ...more,
    } as WindowCommit);
  }
  async function stored() {
    const result = await database.pool.query<{ time: number; close: string; volume: string }>(
      'select time, close, volume from tidemark.candle_points where series_id = $1 order by time',
      [seriesId],
    );
    return result.rows;
  }
  const gaps = async () =>
    (await listGaps(database, { nowMs, graceMs: minuteMs, seriesIds: [seriesId] })).map((gap) => ({
      startMs: gap.startMs,
      endMs: gap.endMs,
      reason: gap.reason,
    }));

  const pending = async () =>
    (await database.pool.query('select 1 from tidemark.pending_windows where series_id = $1', [seriesId]))
      .rowCount;

  it('stores points as text, digit by digit, with coverage and ledger', async () => {
    const result = await commit([candle(0, '62103.1200000000000000'), candle(59, '0.00000000010')]);
    expect(result).toMatchObject({
      verdict: 'filled',
      fresh: 2,
      changed: 0,
      unchanged: 0,
      covered: window,
    });
    expect(await stored()).toEqual([
      { time: minute(0), close: '62103.1200000000000000', volume: '0.0000000000000001' },
      { time: minute(59), close: '0.00000000010', volume: '0.0000000000000001' },
    ]);
    expect(await gaps()).toEqual([]);
    const ledger = await database.pool.query(
      'select verdict, fresh, lower(range) as start from tidemark.fetches where series_id = $1',
      [seriesId],
    );
    expect(ledger.rows).toEqual([{ verdict: 'filled', fresh: 2, start: startMs }]);
  });

  it('writes nothing to the points when nothing changed', async () => {
    await commit(upTo(60));
    const before = await database.pool.query(
      'select xmin::text, ctid::text from tidemark.candle_points where series_id = $1 order by time',
      [seriesId],
    );
    expect(await commit(upTo(60))).toMatchObject({ fresh: 0, changed: 0, unchanged: 60 });
    const after = await database.pool.query(
      'select xmin::text, ctid::text from tidemark.candle_points where series_id = $1 order by time',
      [seriesId],
    );
    expect(after.rows).toEqual(before.rows);
  });

  it('keeps the value before a change as a revision, with its digits', async () => {
    await commit([candle(0, '1.50'), ...upTo(60).slice(1)]);
    expect(await commit([candle(0, '1.51'), ...upTo(60).slice(1)])).toMatchObject({
      changed: 1,
      unchanged: 59,
    });
    expect((await stored())[0]?.close).toBe('1.51');
    const revisions = await database.pool.query(
      `select time, before->>'close' as close, seen_at from tidemark.point_revisions where series_id = $1`,
      [seriesId],
    );
    expect(revisions.rows).toEqual([{ time: minute(0), close: '1.50', seen_at: nowMs }]);
  });

  it('covers nothing on an empty answer, until a second one at least an hour later agrees', async () => {
    expect(await commit([])).toMatchObject({ verdict: 'empty', covered: null });
    expect(await gaps()).toEqual([{ ...window, reason: 'awaits_second_answer' }]);
    const planned = (atMs: number) =>
      seriesWithGaps(database, {
        nowMs: atMs,
        graceMs: minuteMs,
        openRefreshMs: null,
        seriesIds: [seriesId],
        rangesPerSeries: 5,
      });
    expect(await planned(nowMs + hourMs - 1)).toEqual([]);
    expect(await planned(nowMs + hourMs)).toHaveLength(1);

    expect(await commit([], { nowMs: nowMs + minuteMs })).toMatchObject({ verdict: 'empty' });
    expect(await commit([], { nowMs: nowMs + hourMs })).toMatchObject({
      verdict: 'confirmed_empty',
      covered: window,
    });
    expect(await gaps()).toEqual([]);
    const row = await database.pool.query(
      'select covered = confirmed_empty as same from tidemark.series where id = $1',
      [seriesId],
    );
    expect(row.rows).toEqual([{ same: true }]);
  });

  it('lets a later answer with points overturn a confirmed emptiness', async () => {
    await commit([]);
    await commit([], { nowMs: nowMs + hourMs });
    await commit(upTo(60), { nowMs: nowMs + 2 * hourMs });
    const row = await database.pool.query(
      `select covered = tstzmultirange(tracked) as whole, confirmed_empty = '{}' as none from tidemark.series where id = $1`,
      [seriesId],
    );
    expect(row.rows).toEqual([{ whole: true, none: true }]);
  });

  it('deletes a pending empty range when points of its window come, and confirms nothing by it', async () => {
    await commit([]);
    await commit(upTo(20), { nowMs: nowMs + hourMs });
    const [rest] = await gaps();
    expect(rest).toMatchObject({ endMs: window.endMs, reason: 'not_asked' });
    const atRest = { window: { startMs: rest?.startMs ?? 0, endMs: window.endMs } };
    // A second later, from a source in trouble.
    expect(await commit([], { ...atRest, nowMs: nowMs + hourMs + 1000 })).toMatchObject({
      verdict: 'empty',
      covered: null,
    });
    expect(await gaps()).toEqual([{ ...atRest.window, reason: 'awaits_second_answer' }]);
  });

  it('keeps in confirmed_empty a range that two answers confirmed, also beside points of the same window', async () => {
    await commit(upTo(20));
    const [rest] = await gaps();
    const empty = { startMs: Math.max(minute(20), rest?.startMs ?? 0), endMs: window.endMs };
    await commit([], { window: empty });
    await commit([], { window: empty, nowMs: nowMs + hourMs });
    const row = await database.pool.query(
      `select lower(r) as "startMs", upper(r) as "endMs"
         from tidemark.series s, unnest(s.confirmed_empty) r where s.id = $1`,
      [seriesId],
    );
    expect(row.rows).toEqual([empty]);
    expect(await readOldEmptyRanges(database, nowMs + 2 * hourMs, [seriesId])).toMatchObject([
      { seriesId, ranges: [empty] },
    ]);
  });

  it('confirms only the part that was empty twice', async () => {
    await commit([], { window: { startMs, endMs: minute(30) } });
    expect(await commit([], { nowMs: nowMs + hourMs })).toMatchObject({ verdict: 'empty' });
    expect(await gaps()).toEqual([
      { startMs: minute(30), endMs: minute(60), reason: 'awaits_second_answer' },
    ]);
  });

  const requested = (from: number, to: number) => ({
    window: {
      startMs: minute(from),
      endMs: minute(to),
      requested: { startMs: minute(from - 1), endMs: minute(to + 1) },
    },
  });

  it('covers only the points of a truncated answer, and proves the rest with the points beside it', async () => {
    expect(await commit(upTo(20))).toMatchObject({ verdict: 'cut_short' });
    const rest = { startMs: minute(20), endMs: minute(60) };
    expect(await gaps()).toEqual([{ ...rest, reason: 'not_asked' }]);
    expect(await commit([candle(19), candle(60)], requested(20, 60))).toMatchObject({
      verdict: 'filled',
      covered: rest,
      fresh: 0,
      unchanged: 0,
      dropped: 0,
    });
    expect(await gaps()).toEqual([]);
    // The point after the window was not requested.
    expect(await stored()).toHaveLength(20);
  });

  it('confirms a silence with points on one side only when a request for it alone is answered empty', async () => {
    await commit(upTo(20));
    const planned = async () => {
      const query = {
        nowMs,
        graceMs: minuteMs,
        openRefreshMs: null,
        seriesIds: [seriesId],
        rangesPerSeries: 5,
      };
      return (await seriesWithGaps(database, query)).map(({ gaps, silent }) => ({ gaps, silent }));
    };
    const rest = { startMs: minute(20), endMs: minute(60) };
    expect(await planned()).toEqual([{ gaps: [rest], silent: [] }]);
    expect(await commit([candle(19)], requested(20, 60))).toMatchObject({
      verdict: 'cut_short',
      covered: null,
    });
    expect(await gaps()).toEqual([{ ...rest, reason: 'awaits_second_answer' }]);
    expect(await planned()).toEqual([{ gaps: [rest], silent: [rest] }]);
    // At once: one answer may be truncated and the other false, but hardly both.
    expect(await commit([], { window: rest })).toMatchObject({ verdict: 'confirmed_empty', covered: rest });
    expect(await gaps()).toEqual([]);
  });

  it('confirms a short silence at the newest end by an empty answer an hour later', async () => {
    await commit(upTo(20));
    const rest = { startMs: minute(20), endMs: minute(60) };
    await commit([candle(19)], requested(20, 60));
    const tail = { window: rest, lane: 'refresh' as const };
    expect(await commit([], tail)).toMatchObject({ verdict: 'empty', covered: null });
    expect(await commit([], { ...tail, nowMs: nowMs + hourMs })).toMatchObject({
      verdict: 'confirmed_empty',
      covered: rest,
    });
  });

  it('requests again an hour later when hours are silent, however soon an empty answer agrees', async () => {
    const endMs = minute(60 * 4);
    await trackSeries(database, series, startMs, endMs);
    await commit(upTo(60));
    const rest = { startMs: minute(60), endMs };
    await commit([candle(59)], requested(60, 60 * 4));
    // There is no empty answer yet that a user could accept.
    expect(await acceptEmptyAnswers(database, { seriesId, within: rest })).toBe(false);
    expect(await commit([], { window: rest })).toMatchObject({ verdict: 'empty', covered: null });
    expect(await gaps()).toEqual([{ ...rest, reason: 'awaits_second_answer' }]);
    expect(await commit([], { window: rest, nowMs: nowMs + hourMs - 1 })).toMatchObject({
      verdict: 'empty',
    });
    expect(await commit([], { window: rest, nowMs: nowMs + hourMs })).toMatchObject({
      verdict: 'confirmed_empty',
      covered: rest,
    });
  });

  it('confirms a part of hours that were silent when the part is answered empty twice', async () => {
    await trackSeries(database, series, startMs, minute(60 * 4));
    await commit([candle(-1, '1.0')], requested(0, 60 * 4));
    const part = { startMs, endMs: minute(60 * 3) };
    expect(await commit([], { window: part })).toMatchObject({ verdict: 'empty' });
    const later = { window: part, nowMs: nowMs + hourMs };
    expect(await commit([], later)).toMatchObject({ verdict: 'confirmed_empty', covered: part });
    const rest = { startMs: part.endMs, endMs: minute(60 * 4) };
    expect(await gaps()).toEqual([{ ...rest, reason: 'awaits_second_answer' }]);
    expect(await commit([], { window: rest, nowMs: nowMs + hourMs })).toMatchObject({ verdict: 'empty' });
    expect(await commit([], { window: rest, nowMs: nowMs + 2 * hourMs })).toMatchObject({
      verdict: 'confirmed_empty',
    });
    expect(await pending()).toBe(0);
  });

  it('confirms nothing by tail answers that hold only the points before it', async () => {
    const endMs = minute(60 * 4);
    await trackSeries(database, series, startMs, endMs);
    await commit(upTo(20));
    const tail = { window: { startMs: minute(18), endMs }, lane: 'refresh' as const };
    const rest = { startMs: minute(20), endMs };
    for (const atMs of [nowMs, nowMs + hourMs, nowMs + 2 * hourMs])
      expect(await commit([candle(18), candle(19)], { ...tail, nowMs: atMs })).not.toMatchObject({
        verdict: 'confirmed_empty',
      });
    expect(await gaps()).toEqual([{ ...rest, reason: 'awaits_second_answer' }]);
    expect(await commit([], { window: rest, nowMs: nowMs + 3 * hourMs })).toMatchObject({
      verdict: 'confirmed_empty',
      covered: rest,
    });
  });

  it('ignores an answer that lacks a stored point beside its window as truncated', async () => {
    await commit(upTo(20));
    await commit([candle(40), candle(59)], { window: { startMs: minute(40), endMs: minute(60) } });
    const rest = { startMs: minute(20), endMs: minute(40) };
    for (const rows of [[], [candle(19)], [candle(40)]]) {
      expect(await commit(rows, requested(20, 40))).toMatchObject({ verdict: 'cut_short', covered: null });
      expect(await gaps()).toMatchObject([{ ...rest, reason: 'failed' }]);
    }
    expect(await commit([], { window: rest })).toMatchObject({ verdict: 'empty', covered: null });
    expect(await commit([candle(19), candle(40)], requested(20, 40))).toMatchObject({ verdict: 'filled' });
    expect(await gaps()).toEqual([]);
    expect(await pending()).toBe(0);
  });

  it('uses a row in quarantine as a witness that the answer was not truncated there', async () => {
    await commit(upTo(20));
    const rejected = [19, 40].map((index) => ({
      raw: `{"period":${minute(index)}}`,
      reason: 'open: missing',
    }));
    const facts = { sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 };
    const answer = { rows: [], rejected, ...facts };
    const { window } = requested(20, 40);
    expect(await commit([], { answer, window })).toMatchObject({ verdict: 'filled' });
    expect(await gaps()).toEqual([{ startMs: minute(40), endMs: minute(60), reason: 'not_asked' }]);
  });

  it('reopens the silence that a point inside coverage refutes, up to the points beside it', async () => {
    await commit([...upTo(20), candle(59)]);
    expect(await gaps()).toEqual([]);
    // As a witness of the window after it.
    const behind = { startMs: minute(40), endMs: minute(60) };
    const shown = [candle(39), candle(40), ...upTo(60).slice(41)];
    const { window } = requested(40, 60);
    expect(await commit(shown, { window, lane: 'reread' })).toMatchObject({ covered: behind, fresh: 20 });
    expect(await gaps()).toEqual([{ startMs: minute(20), endMs: minute(39), reason: 'not_asked' }]);
    expect((await stored()).map(({ time }) => time)).toContain(minute(39));
    const points = await database.pool.query('select points from tidemark.series where id = $1', [seriesId]);
    expect(points.rows).toEqual([{ points: 41 }]);
    await commit(upTo(41).slice(19), requested(20, 39));
    expect(await gaps()).toEqual([]);
  });

  it('reopens a confirmed empty range when a truncated answer has points there', async () => {
    await commit([]);
    await commit([], { nowMs: nowMs + hourMs });
    expect(await gaps()).toEqual([]);
    await commit(upTo(30).slice(10), { lane: 'repair' });
    expect(await gaps()).toEqual([
      { startMs, endMs: minute(10), reason: 'not_asked' },
      { startMs: minute(30), endMs: minute(60), reason: 'not_asked' },
    ]);
  });

  it('counts a new point before a window of which no period has closed', async () => {
    await trackSeries(database, series, startMs, null);
    const soon = { window: { startMs, endMs: minute(30) }, emptyConfirmMs: 1000 };
    for (const atMs of [minute(31), minute(31) + 1000]) await commit([], { ...soon, nowMs: atMs });
    await commit([candle(29)], { ...requested(30, 31), nowMs: minute(31) + 2000 });
    const known = await database.pool.query(
      `select points, newest, confirmed_empty @> $2::timestamptz as empty, covered @> $2::timestamptz as covered
         from tidemark.series where id = $1`,
      [seriesId, new Date(minute(29))],
    );
    expect(await stored()).toHaveLength(1);
    expect(known.rows).toEqual([{ points: 1, newest: minute(29), empty: false, covered: true }]);
    expect((await gaps()).map(({ startMs, endMs }) => [startMs, endMs])).toContainEqual([
      startMs,
      minute(29),
    ]);
  });

  it('uses a larger answer of another series as proof that pauses of a thin market were not truncated', async () => {
    const other = { ...series, baseId: `${series.baseId}-beside` };
    const { seriesId: otherId } = await trackSeries(database, other, window.startMs, window.endMs);
    const thin = upTo(60).filter((_, index) => index % 4 === 0);
    const { endMs } = (await commit(thin)).covered ?? {};
    expect(endMs).toBe(minute(57));
    await commit(upTo(60), { seriesId: otherId, series: other });
    expect(await commit(thin)).toMatchObject({ verdict: 'filled', covered: window });
  });

  it('uses no answer of another interval or dataset as such proof, nor an old one', async () => {
    const hours = { ...series, interval: 'h1' as const };
    const { seriesId: hoursId } = await trackSeries(database, hours, window.startMs, window.endMs);
    const day = { startMs: startMs - 50 * hourMs, endMs: startMs };
    const rows = Array.from({ length: 50 }, (_, index) => ({
      ...candle(0),
      period: day.startMs + index * hourMs,
    }));
    await commit(rows, { seriesId: hoursId, series: hours, window: day });
    await commit(upTo(21), { window: { startMs, endMs: minute(21) }, nowMs: nowMs - 2 * hourMs });
    expect(await commit(upTo(20), { window: { startMs, endMs: minute(40) } })).toMatchObject({
      verdict: 'cut_short',
    });
  });

  it('continues a capped window that was requested twice at once', async () => {
    await commit(upTo(20));
    await commit(upTo(20));
    expect(await gaps()).toEqual([{ startMs: minute(20), endMs: minute(60), reason: 'not_asked' }]);
  });

  it('stores the open candle without covering it', async () => {
    const openNow = minute(30) + 20_000;
    await commit(upTo(31), { nowMs: openNow, graceMs: 0 });
    expect(await stored()).toHaveLength(31);
    const row = await database.pool.query(
      'select upper(covered) as upto from tidemark.series where id = $1',
      [seriesId],
    );
    expect(row.rows).toEqual([{ upto: minute(30) }]);
  });

  it('covers no period that had not closed when an answer without a timestamp was requested', async () => {
    const nowMs = minute(31);
    const answer = {
      rows: upTo(31),
      rejected: [],
      sourceTimeMs: null,
      status: 200,
      bytes: 1,
      durationMs: 20_000,
    };
    await commit([], { answer, nowMs, graceMs: 0 });
    const row = await database.pool.query(
      'select upper(covered) as upto from tidemark.series where id = $1',
      [seriesId],
    );
    expect(row.rows).toEqual([{ upto: minute(30) }]);
  });

  it('does not request a period again at once when a lagging source had not closed it', async () => {
    const lagging = {
      rows: upTo(40),
      rejected: [],
      sourceTimeMs: minute(40),
      status: 200,
      bytes: 1,
      durationMs: 1,
    };
    expect(await commit([], { answer: lagging })).toMatchObject({ verdict: 'filled' });
    expect(await gaps()).toEqual([{ startMs: minute(40), endMs: minute(60), reason: 'stale' }]);
  });

  it('covers nothing when no row is readable, or none belongs to the window', async () => {
    const answer = (rows: Candle[], rejected: { raw: string; reason: string }[]) => ({
      rows,
      rejected,
      sourceTimeMs: nowMs,
      status: 200,
      bytes: 1,
      durationMs: 1,
    });
    const serviceMessage = [{ raw: '{"message":"unavailable"}', reason: 'open: missing' }];
    expect(await commit([], { answer: answer([], serviceMessage) })).toMatchObject({ covered: null });
    expect(await gaps()).toEqual([{ ...window, reason: 'failed' }]);
    expect(await commit([], { answer: answer([candle(500), candle(501)], []) })).toMatchObject({
      covered: null,
    });
    expect(await gaps()).toEqual([{ ...window, reason: 'failed' }]);
  });

  it('keeps no revision of an open candle', async () => {
    const openNow = minute(30) + 20_000;
    await commit(upTo(31), { nowMs: openNow, graceMs: 0 });
    const closed = [...upTo(30), candle(30, '7')];
    expect(await commit(closed, { nowMs: openNow + minuteMs, graceMs: 0 })).toMatchObject({ changed: 1 });
    const revisions = await database.pool.query(
      'select 1 from tidemark.point_revisions where series_id = $1',
      [seriesId],
    );
    expect(revisions.rows).toEqual([]);
  });

  it('does not request a quiet market repeatedly, and covers the silence with its next trade', async () => {
    const tail = { startMs: minute(20), endMs: minute(40) };
    // Long enough ago that its size no longer counts.
    await commit(upTo(21), { window: { startMs, endMs: minute(21) }, nowMs: nowMs - 2 * hourMs });
    expect(await commit([candle(20)], { window: tail, lane: 'refresh' })).toMatchObject({
      verdict: 'empty',
    });
    expect((await gaps())[0]).toEqual({
      startMs: minute(21),
      endMs: minute(40),
      reason: 'awaits_second_answer',
    });
    const later = { startMs: minute(20), endMs: minute(60) };
    await commit([candle(20), candle(59)], { window: later, lane: 'refresh' });
    expect(await gaps()).toEqual([]);
  });

  it('drops points outside the window, sorts the rest and takes the last of a duplicate', async () => {
    const result = await commit([candle(5, '2'), candle(3), candle(5, '3'), candle(-1, '9'), candle(60)]);
    expect(result).toMatchObject({ fresh: 2, dropped: 3 });
    expect((await stored()).map((row) => [row.time, row.close])).toEqual([
      [minute(3), '1.3000'],
      [minute(5), '3'],
    ]);
  });

  it('defers a window whose answer is stale instead of covering it', async () => {
    const old = { rows: [], rejected: [], sourceTimeMs: startMs - 1, status: 200, bytes: 1, durationMs: 1 };
    expect(await commit([], { answer: old })).toMatchObject({ verdict: 'stale', covered: null });
    expect(await gaps()).toEqual([{ ...window, reason: 'stale' }]);
  });

  it('keeps rejected rows in quarantine, once, and the rest of the window', async () => {
    const answer = {
      rows: upTo(60).slice(1),
      rejected: [{ raw: '{"high":"1\u0000"}', reason: 'high below low' }],
      sourceTimeMs: nowMs,
      status: 200,
      bytes: 1,
      durationMs: 1,
    };
    await commit([], { answer });
    // The row does not tell its period, so it proves none.
    const covered = { startMs: minute(1), endMs: window.endMs };
    expect(await commit([], { answer })).toMatchObject({ verdict: 'cut_short', covered });
    const rows = await database.pool.query('select reason from tidemark.quarantine where series_id = $1', [
      seriesId,
    ]);
    expect(rows.rows).toEqual([{ reason: 'high below low' }]);
  });

  it('keeps rejected rows of what the source lacks with the requested range', async () => {
    const rejected = [{ raw: 'in another unit', reason: 'the time is not in milliseconds', timeMs: startMs }];
    const known = { untilMs: nowMs, missing: [{ startMs, endMs: minute(2) }] };
    const facts = { sourceTimeMs: null, status: 200, bytes: 1, durationMs: 1 };
    const answer = { rows: upTo(60).slice(2), rejected, known, isWhole: true, ...facts };
    expect(await commit([], { answer })).toMatchObject({ verdict: 'filled' });
    const kept = await database.pool.query(
      `select tstzrange('2024-01-01 00:00Z', '2024-01-01 01:00Z') = range as whole from tidemark.quarantine where series_id = $1`,
      [seriesId],
    );
    expect(kept.rows).toEqual([{ whole: true }]);
  });

  it('leaves a file without a readable row to the next source, as one that is absent', async () => {
    const rejected = [{ raw: 'in another unit', reason: 'the time is not in milliseconds', timeMs: startMs }];
    const facts = { sourceTimeMs: null, status: 200, bytes: 1, durationMs: 1 };
    for (const isWhole of [false, true]) {
      expect(await commit([], { answer: { rows: [], rejected, isWhole, ...facts } })).toMatchObject({
        verdict: 'unreadable',
        covered: null,
      });
      const deferred = await database.pool.query(
        'select kind from tidemark.pending_windows where series_id = $1',
        [seriesId],
      );
      expect(deferred.rows).toEqual([{ kind: isWhole ? 'incomplete' : 'unreadable' }]);
    }
  });

  it('counts a row in quarantine as unresolved until a point of its period comes', async () => {
    const rejected = [
      { raw: `{"high":null,"period":${minute(7)}}`, reason: 'high: not a decimal' },
      { raw: '"nothing that tells its time"', reason: 'not an object' },
      { raw: '{"period":0}', reason: 'high: missing' },
    ];
    const facts = { sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 };
    await commit([], { answer: { rows: upTo(60).slice(8), rejected, ...facts } });
    const named = async () =>
      (await readQuarantined(database)).filter((entry) => entry.seriesId === seriesId);
    expect(await named()).toMatchObject([{ rows: 3 }]);
    await commit(upTo(59));
    expect(await named()).toEqual([]);
  });

  it('counts a row without a usable time as unresolved until every period of its window has a point', async () => {
    const history = { dataset: 'asset_history', assetId: `asset-${market}`, interval: 'm1' } as const;
    const { seriesId: historyId } = await trackSeries(database, history, window.startMs, window.endMs);
    const facts = { sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 };
    const rejected = [{ raw: '"nothing that tells its time"', reason: 'not an object' }];
    const points = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        time: minute(index) + 7,
        priceUsd: decimalText('1.0'),
      }));
    // A period may have several points.
    const doubled = [...points(59), { time: minute(3) + 30_000, priceUsd: decimalText('2.0') }];
    const counts = () =>
      countRejected(
        database,
        new Map([
          [seriesId, window],
          [historyId, window],
        ]),
      );
    await commit([], { answer: { rows: upTo(59), rejected, ...facts } });
    const of = { seriesId: historyId, series: history };
    await commit([], { ...of, answer: { rows: doubled, rejected, ...facts } });
    expect(await counts()).toBe(2);
    await commit(upTo(60));
    expect(await counts()).toBe(1);
    await commit([], { ...of, answer: { rows: points(60), rejected: [], ...facts } });
    expect(await counts()).toBe(0);
  });

  it('counts the rejected rows of months while few of its points have come', async () => {
    const [months, minutesOfMonth] = [4, 30 * 24 * 60];
    const minutes = months * minutesOfMonth;
    const all = { startMs, endMs: minute(minutes) };
    const facts = { sourceTimeMs: null, isWhole: true, status: 200, bytes: 1, durationMs: 1 };
    const at = { nowMs: all.endMs + hourMs };
    for (let month = 0; month < months; month += 1) {
      const first = month * minutesOfMonth;
      const rejected = Array.from({ length: minutesOfMonth }, (_, index) => ({
        raw: `${minute(first + index)}000`,
        reason: 'the time is not in milliseconds',
        timeMs: minute(first + index),
      }));
      const window = { startMs: minute(first), endMs: minute(first + minutesOfMonth) };
      await commit([], { ...at, window, answer: { rows: [], rejected, ...facts } });
    }
    const rows = Array.from({ length: 1000 }, (_, index) => candle(index, '1.0'));
    const window = { startMs, endMs: minute(rows.length) };
    await commit([], { ...at, window, answer: { rows, rejected: [], ...facts } });
    expect(await countRejected(database, new Map([[seriesId, all]]))).toBe(minutes - rows.length);
  });

  it('reopens the years before the beginning when a point turns up there', async () => {
    const hours = (from: number, to: number) => ({
      startMs: startMs - from * hourMs,
      endMs: startMs - to * hourMs,
    });
    await trackSeries(database, series, startMs - 400 * 24 * hourMs, window.endMs);
    const probe = (atMs: number, timesMs: number[]) =>
      commitProbe(database, {
        seriesId,
        series,
        attempt: 1,
        timesMs,
        nowMs: atMs,
        window: { ...hours(9600, 24), lane: 'probe' },
        answer: { rejected: [], sourceTimeMs: atMs, status: 200, bytes: 1, durationMs: 1 },
        graceMs: minuteMs,
        emptyConfirmMs: hourMs,
      });
    const known = async () => {
      const result = await database.pool.query<Record<'covered' | 'empty' | 'before', number>>(
        `select coalesce(extract(epoch from upper(covered) - lower(covered)) / 3600, 0)::int as covered,
                  coalesce(extract(epoch from upper(confirmed_empty) - lower(confirmed_empty)) / 3600, 0)::int as empty,
                  coalesce(extract(epoch from upper(before_beginning) - lower(before_beginning)) / 3600, 0)::int as before
           from tidemark.series where id = $1`,
        [seriesId],
      );
      return result.rows[0];
    };
    expect(await probe(nowMs, [])).toMatchObject({ doubt: null });
    expect(await probe(nowMs + minuteMs, [])).toMatchObject({ doubt: null });
    expect(await known()).toEqual({ covered: 0, empty: 0, before: 0 });
    expect(await probe(nowMs + hourMs, [])).toMatchObject({ doubt: null });
    // All but the last day, which is requested at the series' own interval.
    expect(await known()).toEqual({ covered: 9552, empty: 9552, before: 9552 });

    const found = { ...candle(0), period: hours(500, 0).startMs };
    const minutes = { startMs: found.period, endMs: found.period + minuteMs };
    await commit([found], { window: minutes, nowMs: nowMs + 2 * hourMs });
    expect(await known()).toEqual({ covered: 0, empty: 0, before: 0 });
    const missing = (await gaps()).reduce((sum, gap) => sum + gap.endMs - gap.startMs, 0);
    expect(missing).toBe(9600 * hourMs + hourMs - minuteMs);
    // An answer that lacks the day is no longer trusted.
    expect(await probe(nowMs + 3 * hourMs, [])).toMatchObject({ doubt: expect.any(String) });
  });

  it('knows of a stored witness that reopens the years before the beginning', async () => {
    await trackSeries(database, series, minute(-30_000), window.endMs);
    for (const atMs of [nowMs, nowMs + hourMs])
      await commitProbe(database, {
        seriesId,
        series,
        attempt: 1,
        timesMs: [],
        nowMs: atMs,
        window: { startMs: minute(-30_000), endMs: minute(-1440), lane: 'probe' },
        answer: { rejected: [], sourceTimeMs: atMs, status: 200, bytes: 1, durationMs: 1 },
        graceMs: minuteMs,
        emptyConfirmMs: hourMs,
      });
    await commit([candle(-10_001, '1.5'), candle(-10_000, '1.6')], {
      ...requested(-10_000, -9999),
      nowMs: nowMs + 2 * hourMs,
    });
    const points = await database.pool.query(
      `select covered @> $2::timestamptz as covered, uncovered_points @> $2::timestamptz as outside
         from tidemark.series where id = $1`,
      [seriesId, new Date(minute(-10_001))],
    );
    expect(points.rows).toEqual([{ covered: false, outside: true }]);
  });

  it('reopens the years before the beginning when a later probe finds a day there', async () => {
    await trackSeries(database, series, startMs - 400 * 24 * hourMs, window.endMs);
    const years = { startMs: startMs - 400 * 24 * hourMs, endMs: startMs - 24 * hourMs };
    const probe = (atMs: number, timesMs: number[], run?: string) =>
      commitProbe(database, {
        seriesId,
        series,
        attempt: 1,
        timesMs,
        nowMs: atMs,
        window: { ...years, lane: 'repair', ...(run === undefined ? {} : { run }) },
        answer: { rejected: [], sourceTimeMs: atMs, status: 200, bytes: 1, durationMs: 1 },
        graceMs: minuteMs,
        emptyConfirmMs: hourMs,
      });
    await probe(nowMs, []);
    await probe(nowMs + hourMs, []);
    const before = { startMs: years.startMs, endMs: years.endMs - 24 * hourMs };
    const old = (sinceMs: number) => readOldEmptyRanges(database, sinceMs, [seriesId]);
    expect(await old(nowMs)).toEqual([]);
    expect(await old(nowMs + hourMs)).toMatchObject([
      { seriesId, ranges: [], before: [before], knownMs: null },
    ]);

    const dayMs = 24 * hourMs;
    const firstMs = Math.floor((startMs - 100 * dayMs) / dayMs) * dayMs;
    await probe(nowMs + 2 * hourMs, [firstMs], 'a1');
    expect(await consumeResults(database, 'a1')).toMatchObject([
      { seriesId, ...years, reached: years, kind: 'overturned' },
    ]);
    expect(await old(nowMs + hourMs)).toEqual([]);
    const reasons = (await gaps()).map(({ reason, startMs, endMs }) => ({ reason, startMs, endMs }));
    expect(reasons).toEqual([
      { reason: 'awaits_second_answer', startMs: years.startMs, endMs: firstMs - dayMs },
      { reason: 'not_asked', startMs: firstMs - dayMs, endMs: window.endMs },
    ]);
  });

  it('deletes a pending first probe when a point turns up there', async () => {
    await trackSeries(database, series, startMs - 400 * 24 * hourMs, window.endMs);
    await commitProbe(database, {
      seriesId,
      series,
      attempt: 1,
      timesMs: [],
      nowMs,
      window: { startMs: startMs - 400 * 24 * hourMs, endMs: startMs - 24 * hourMs, lane: 'probe' },
      answer: { rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 },
      graceMs: minuteMs,
      emptyConfirmMs: hourMs,
    });
    expect((await gaps()).map(({ reason }) => reason)).toContain('awaits_second_answer');
    const found = { ...candle(0), period: startMs - 500 * hourMs };
    await commit([found], { window: { startMs: found.period, endMs: found.period + minuteMs } });
    expect((await gaps()).map(({ reason }) => reason)).not.toContain('awaits_second_answer');
  });

  it('shows a deferred window with its reason, leaves it out until its time, and then covers it', async () => {
    await deferWindow(database.pool, {
      seriesId,
      window,
      kind: 'server_error',
      message: 'HTTP 500',
      attempts: 5,
      nowMs,
      retryAtMs: nowMs + hourMs,
    });
    expect(await gaps()).toEqual([{ ...window, reason: 'failed' }]);
    await commit(upTo(60));
    expect(await gaps()).toEqual([]);
    const pending = await database.pool.query('select 1 from tidemark.pending_windows where series_id = $1', [
      seriesId,
    ]);
    expect(pending.rows).toEqual([]);
  });

  const failed = () =>
    deferWindow(database.pool, {
      seriesId,
      window,
      kind: 'server_error',
      message: 'HTTP 500',
      attempts: 5,
      nowMs,
      retryAtMs: nowMs + hourMs,
    });

  it('deletes a deferred window when others have covered it piece by piece', async () => {
    await failed();
    await commit(upTo(30), { window: { startMs, endMs: minute(30) } });
    expect(await pending()).toBe(1);
    await commit(upTo(60).slice(30), { window: { startMs: minute(30), endMs: minute(60) } });
    expect(await pending()).toBe(0);
  });

  it('does not defer a window that is covered already', async () => {
    await commit(upTo(60));
    await failed();
    const unreadable = [{ raw: '{}', reason: 'open: missing' }];
    const answer = { rows: [], sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 };
    await commit([], { answer: { ...answer, rejected: unreadable } });
    await commit([], { answer: { ...answer, rejected: [], sourceTimeMs: startMs - 1 } });
    expect(await pending()).toBe(0);
  });

  it('counts every row against a cap, dropped ones included', async () => {
    const twice = [candle(0), ...upTo(50), candle(60)];
    const { verdict, covered } = await commit(twice);
    expect(verdict).toBe('cut_short');
    expect(covered?.endMs).toBeLessThanOrEqual(minute(50));
  });

  it('calls no period empty that holds a point, such as an open candle', async () => {
    await commit(upTo(1), { nowMs: startMs + 1000, graceMs: 0 });
    await commit([]);
    await commit([], { nowMs: nowMs + hourMs });
    const row = await database.pool.query(
      `select confirmed_empty @> $2::timestamptz as empty, covered = tstzmultirange(tracked) as whole
         from tidemark.series where id = $1`,
      [seriesId, new Date(startMs).toISOString()],
    );
    expect(row.rows).toEqual([{ empty: false, whole: true }]);
  });

  it('loses nothing when the same window is committed by many at once', async () => {
    const results = await Promise.all(Array.from({ length: 8 }, () => commit(upTo(60))));
    expect(results.reduce((sum, result) => sum + result.fresh, 0)).toBe(60);
    expect(await stored()).toHaveLength(60);
    const row = await database.pool.query('select points from tidemark.series where id = $1', [seriesId]);
    expect(row.rows).toEqual([{ points: 60 }]);
  });

  it('stores neither points nor coverage when any part of the commit fails', async () => {
    await database.pool.query('alter table tidemark.fetches add constraint broken check (attempt < 99)');
    await expect(commit(upTo(60), { attempt: 99 })).rejects.toThrow(/broken/);
    await database.pool.query('alter table tidemark.fetches drop constraint broken');
    expect(await stored()).toEqual([]);
    expect(await gaps()).toEqual([{ ...window, reason: 'not_asked' }]);
  });

  it('counts the ledger by lane', async () => {
    const before = await countFetchesSince(database, nowMs - 1);
    await commit(upTo(60), { lane: 'refresh' });
    const after = await countFetchesSince(database, nowMs - 1);
    expect(after.refresh).toBe(before.refresh + 1);
  });
});
