import { beforeEach, expect, it } from 'vitest';
import { decimalText } from '../../../model/decimal.ts';
import { type EpochMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import type { WindowLane } from '../../../model/lanes.ts';
import type { Range } from '../../../model/ranges.ts';
import type { CandleSeries, SeriesKey } from '../../../model/series.ts';
import { defaultSource } from '../../../model/sources.ts';
import type { PointsAnswer } from '../../../planning/answer.ts';
import { deferWindow } from '../../../store/commit/deferred-windows.ts';
import { acceptEmptyAnswers } from '../../../store/commit/empty-answers.ts';
import type { CommitRules, WindowCommit } from '../../../store/commit/prepare-window.ts';
import { readOldEmptyRanges } from '../../../store/commit/reread.ts';
import { timestamp } from '../../../store/db/values.ts';
import { countRejected, readQuarantined } from '../../../store/ledger/quarantine.ts';
import { listGaps, seriesWithGaps } from '../../../store/series/gaps.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { seriesStatus } from '../../../store/status/status.ts';
import type { Candle, HistoryPoint } from '../../../v2/resources.ts';
import { rulesOf, windowOf } from '../../parts/windows.ts';
import { commitWindow, pointAnswerOf } from '../committing.ts';
import { onEachDatabase, useStore } from '../open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const minute = (index: number) => startMs + index * minuteMs;
const minutes = (from: number, to: number) => ({ startMs: minute(from), endMs: minute(to) });
const window = minutes(0, 60);
const nowMs = startMs + 10 * hourMs;
/** Of an answer that comes some hours later. */
const later = (hours: number) => ({ nowMs: nowMs + hours * hourMs });
const within = (from: number, to: number) => ({ window: minutes(from, to) });
/** A request that includes the periods beside the window. */
const requested = (from: number, to: number) => ({ window: minutes(from, to), asks: minutes(from - 1, to + 1) });

function candle(index: number, close = `1.${Math.abs(index)}000`): Candle {
  const value = decimalText(close);
  const volume = decimalText('0.0000000000000001');
  return { open: value, high: value, low: value, close: value, volume, period: minute(index) };
}
const candlesOf = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => candle(from + index));
const upTo = (count: number) => candlesOf(0, count);

interface More extends Partial<CommitRules> {
  readonly seriesId?: number;
  readonly series?: SeriesKey;
  readonly window?: Range;
  readonly asks?: Range;
  readonly lane?: WindowLane;
  readonly attempt?: number;
  readonly nowMs?: EpochMs;
  readonly answer?: Partial<PointsAnswer>;
}

onEachDatabase('commitWindow', (kind) => {
  const store = useStore(kind);
  let seriesId: number;
  let market = 0;
  let series: CandleSeries;

  beforeEach(async () => {
    market++;
    const names = { exchange: 'x', baseId: `base-${market}`, quoteId: 'tether' };
    series = { dataset: 'candles', ...names, interval: 'm1' };
    ({ seriesId } = await trackSeries(store.database, series, window.startMs, window.endMs));
    // Larger answers of other tests would count against a cap.
    await store.database.pool.query('update tidemark.series set most_rows = 0');
  });

  function commit(rows: readonly (Candle | HistoryPoint)[], more: More = {}) {
    const {
      window: range = window,
      asks = range,
      lane = 'backfill',
      attempt = 1,
      answer,
      nowMs: atMs = nowMs,
      ...rules
    } = more;
    const asked = { seriesId: more.seriesId ?? seriesId, series: more.series ?? series, ...range };
    return commitWindow(store.database, {
      window: windowOf(asked, lane, { asks }),
      ...{ attempt, nowMs: atMs, rules: { ...rulesOf(hourMs), ...rules } },
      answer: pointAnswerOf(asked.series.dataset, rows, nowMs, answer),
    } as WindowCommit);
  }
  const minutesOf = ({ startMs: from, endMs: to }: Range) =>
    `${(from - startMs) / minuteMs}-${(to - startMs) / minuteMs}`;
  /** Commits. @returns the verdict and the covered minutes: `filled 0-60`. */
  async function answered(rows: readonly (Candle | HistoryPoint)[], more: More = {}) {
    const { verdict, covered } = await commit(rows, more);
    return covered === null ? verdict : `${verdict} ${minutesOf(covered)}`;
  }
  /** Each gap as `0-60 not_asked`. */
  const gaps = async () =>
    (await listGaps(store.database, { nowMs, graceMs: minuteMs, seriesIds: [seriesId] })).map(
      (gap) => `${minutesOf(gap)} ${gap.reason}`,
    );
  const planned = async (atMs: number) => {
    const query = { nowMs: atMs, graceMs: minuteMs, openRefreshMs: null, rangesPerSeries: 5 };
    const [series] = await seriesWithGaps(store.database, { ...query, seriesIds: [seriesId] });
    return series && { gaps: series.gaps.map(minutesOf), silent: series.silent?.map(minutesOf) };
  };
  const select = async (columns: string, from: string, ...values: unknown[]) =>
    (await store.database.pool.query(`select ${columns} from tidemark.${from}`, [seriesId, ...values])).rows;
  /** Columns of the row of the series; `$2` is the time, if one is given. */
  const known = async (columns: string, ...timesMs: EpochMs[]) =>
    (await select(columns, 'series where id = $1', ...timesMs.map(timestamp)))[0];
  const stored = () => select('time, close, volume', 'candle_points where series_id = $1 order by time');
  const pending = () => select('reason', 'pending_windows where series_id = $1');
  const track = (startMs: EpochMs, endMs: EpochMs | null) => trackSeries(store.database, series, startMs, endMs);
  const failed = (reason: 'failed' | 'unreadable' = 'failed') =>
    deferWindow(store.database.pool, {
      ...{ seriesId, window, source: defaultSource, reason, message: 'HTTP 500', attempts: 5 },
      ...{ nowMs, retryAtMs: nowMs + hourMs },
    });

  it('stores points as text, digit by digit, with coverage and ledger', async () => {
    const rows = [candle(0, '62103.1200000000000000'), candle(59, '0.00000000010')];
    const counts = { fresh: 2, changed: 0, unchanged: 0, covered: window };
    expect(await commit(rows)).toMatchObject({ verdict: 'filled', ...counts });
    expect(await stored()).toEqual([
      { time: minute(0), close: '62103.1200000000000000', volume: '0.0000000000000001' },
      { time: minute(59), close: '0.00000000010', volume: '0.0000000000000001' },
    ]);
    expect(await gaps()).toEqual([]);
    const ledger = await select('verdict, fresh, lower(range) as start', 'fetches where series_id = $1');
    expect(ledger).toEqual([{ verdict: 'filled', fresh: 2, start: startMs }]);
  });

  it('writes nothing to the points when nothing changed', async () => {
    await commit(upTo(60));
    const places = () => select('xmin::text, ctid::text', 'candle_points where series_id = $1 order by time');
    const before = await places();
    expect(await commit(upTo(60))).toMatchObject({ fresh: 0, changed: 0, unchanged: 60 });
    expect(await places()).toEqual(before);
  });

  it.each(['failed', 'unreadable'] as const)(
    'takes the rest of an answered window, which closes later, for %s no longer',
    async (reason) => {
      await failed(reason);
      expect(await gaps()).toEqual(['0-60 failed']);
      const atMs = minute(45) + 30_000;
      expect(await answered(upTo(45), { nowMs: atMs, lane: 'refresh' })).toBe('filled 0-44');
      expect(await gaps()).toEqual(['44-60 not_asked']);
    },
  );

  it('keeps the value before a change as a revision, with its digits', async () => {
    await commit([candle(0, '1.50'), ...candlesOf(1, 60)]);
    const changed = [candle(0, '1.51'), ...candlesOf(1, 60)];
    expect(await commit(changed)).toMatchObject({ changed: 1, unchanged: 59 });
    expect((await stored())[0]?.close).toBe('1.51');
    expect(await select(`time, before->>'close' as close, seen_at`, 'point_revisions where series_id = $1')).toEqual([
      { time: minute(0), close: '1.50', seen_at: nowMs },
    ]);
  });

  it('covers nothing on an empty answer, until a second one at least an hour later agrees', async () => {
    expect(await answered([])).toBe('empty');
    expect(await gaps()).toEqual(['0-60 awaits_second_answer']);
    expect(await planned(nowMs + hourMs - 1)).toBeUndefined();
    expect(await planned(nowMs + hourMs)).toMatchObject({ gaps: ['0-60'] });

    expect(await answered([], { nowMs: nowMs + minuteMs })).toBe('empty');
    expect(await answered([], later(1))).toBe('confirmed_empty 0-60');
    expect(await gaps()).toEqual([]);
    expect(await known('covered = confirmed_empty as same')).toEqual({ same: true });
  });

  it('lets a later answer with points overturn a confirmed emptiness', async () => {
    await commit([]);
    await commit([], later(1));
    await commit(upTo(60), later(2));
    expect(await known(`covered = tstzmultirange(tracked) as whole, confirmed_empty = '{}' as none`)).toEqual({
      whole: true,
      none: true,
    });
  });

  it('deletes a pending empty range when points of its window come, and confirms nothing by it', async () => {
    await commit([]);
    await commit(upTo(20), later(1));
    expect(await gaps()).toEqual(['20-60 not_asked']);
    // A second later, from a source in trouble.
    expect(await answered([], { ...within(20, 60), nowMs: nowMs + hourMs + 1000 })).toBe('empty');
    expect(await gaps()).toEqual(['20-60 awaits_second_answer']);
  });

  it('keeps in confirmed_empty a range that two answers confirmed, also beside points of the same window', async () => {
    await commit(upTo(20));
    await commit([], within(20, 60));
    await commit([], { ...within(20, 60), ...later(1) });
    const empty = minutes(20, 60);
    expect(
      await select(
        'lower(r) as "startMs", upper(r) as "endMs"',
        'series s, unnest(s.confirmed_empty) r where s.id = $1',
      ),
    ).toEqual([empty]);
    expect(await readOldEmptyRanges(store.database, nowMs + 2 * hourMs, [seriesId])).toMatchObject([
      { seriesId, ranges: [empty] },
    ]);
  });

  it('keeps the whole period of a stored point out of confirmed_empty', async () => {
    const empty = async () =>
      (
        await select(
          `lower(r) as "startMs", upper(r) as "endMs"`,
          'series s, unnest(s.confirmed_empty) r where s.id = $1',
        )
      ).map((one) => minutesOf(one as Range));
    // While it was open, so that it is not covered.
    await commit([candle(20)], { ...within(20, 21), lane: 'refresh', nowMs: minute(20) + 30_000 });
    await commit([], within(20, 60));
    await commit([], { ...within(20, 60), ...later(1) });
    expect(await empty()).toEqual(['21-60']);
    // A point that comes late.
    await commit([candle(40)], { ...within(38, 42), nowMs: minute(40) + 30_000 });
    expect(
      (await empty()).every((range) => !/\./.test(range)),
      `${await empty()}`,
    ).toBe(true);
  });

  it('confirms only the part that was empty twice', async () => {
    await commit([], within(0, 30));
    expect(await answered([], later(1))).toMatch(/^empty/);
    expect(await gaps()).toEqual(['30-60 awaits_second_answer']);
    // Of the part that is covered it is known who gave it.
    const { rows } = await store.database.pool.query(
      `select source, from_time as "startMs", to_time as "endMs" from source_coverage where series_id = $1`,
      [seriesId],
    );
    expect(rows).toEqual([{ source: defaultSource, ...minutes(0, 30) }]);
  });

  it('covers only the points of a truncated answer, and proves the rest with the points beside it', async () => {
    expect(await answered(upTo(20))).toBe('cut_short 0-20');
    expect(await gaps()).toEqual(['20-60 not_asked']);
    expect(await commit([candle(19), candle(60)], requested(20, 60))).toMatchObject({
      ...{ verdict: 'filled', covered: minutes(20, 60), fresh: 0, unchanged: 0, dropped: 0 },
    });
    expect(await gaps()).toEqual([]);
    // The point after the window was not requested.
    expect(await stored()).toHaveLength(20);
  });

  it('confirms a silence with points on one side only when a request for it alone is answered empty', async () => {
    await commit(upTo(20));
    expect(await planned(nowMs)).toEqual({ gaps: ['20-60'], silent: [] });
    expect(await answered([candle(19)], requested(20, 60))).toBe('cut_short');
    expect(await gaps()).toEqual(['20-60 awaits_second_answer']);
    expect(await planned(nowMs)).toEqual({ gaps: ['20-60'], silent: ['20-60'] });
    // At once: one answer may be truncated and the other false, but hardly both.
    expect(await answered([], within(20, 60))).toBe('confirmed_empty 20-60');
    expect(await gaps()).toEqual([]);
  });

  it('requests again an hour later when hours are silent, however soon an empty answer agrees', async () => {
    await track(startMs, minute(240));
    await commit(upTo(60));
    const rest = within(60, 240);
    await commit([candle(59)], requested(60, 240));
    // There is no empty answer yet that a user could accept.
    expect(await acceptEmptyAnswers(store.database, { seriesId, within: rest.window })).toBe(false);
    expect(await answered([], rest)).toBe('empty');
    expect(await gaps()).toEqual(['60-240 awaits_second_answer']);
    expect(await answered([], { ...rest, nowMs: nowMs + hourMs - 1 })).toBe('empty');
    expect(await answered([], { ...rest, ...later(1) })).toBe('confirmed_empty 60-240');
  });

  it('asks alone, once more, for hours between two windows where a missing row proves nothing', async () => {
    await track(minute(-1000), minute(500));
    await commit(candlesOf(-1000, -300), within(-1000, -200));
    await commit(candlesOf(-100, 500), within(-200, 500));
    const rows = [candle(-301), candle(-100)];
    expect(await answered(rows, { ...requested(-300, -100), isAbsenceUnknown: true })).toBe('filled');
    expect(await planned(nowMs)).toEqual({ gaps: ['-300--100'], silent: ['-300--100'] });
    expect(await answered([], within(-300, -100))).toBe('confirmed_empty -300--100');
  });

  it('confirms nothing by tail answers that hold only the points before it', async () => {
    await track(startMs, minute(240));
    await commit(upTo(20));
    const tail = { ...within(18, 240), lane: 'refresh' as const };
    for (const hours of [0, 1, 2])
      expect(await answered(candlesOf(18, 20), { ...tail, ...later(hours) })).not.toMatch(/confirmed/);
    expect(await gaps()).toEqual(['20-240 awaits_second_answer']);
    expect(await answered([], { ...within(20, 240), ...later(3) })).toBe('confirmed_empty 20-240');
  });

  it('ignores an answer that lacks a stored point beside its window as truncated', async () => {
    await commit(upTo(20));
    await commit([candle(40), candle(59)], within(40, 60));
    for (const rows of [[], [candle(19)], [candle(40)]]) {
      expect(await answered(rows, requested(20, 40))).toBe('cut_short');
      expect(await gaps()).toEqual(['20-40 failed']);
    }
    expect(await answered([], within(20, 40))).toBe('empty');
    expect(await answered([candle(19), candle(40)], requested(20, 40))).toBe('filled 20-40');
    expect(await gaps()).toEqual([]);
    expect(await pending()).toEqual([]);
  });

  it.each([
    [undefined, minuteMs],
    [2000, 2000],
  ])('requests the newest data again after a truncated answer, failed windows after at most %s ms', async (...one) => {
    const [failedRetryMs, pauseMs] = one;
    await track(startMs, minute(240));
    await commit(upTo(20));
    await commit([candle(18)], { ...within(18, 240), lane: 'refresh', ...(failedRetryMs && { failedRetryMs }) });
    expect(await select('retry_at', 'pending_windows where series_id = $1')).toEqual([{ retry_at: nowMs + pauseMs }]);
  });

  it('uses a row in quarantine as a witness that the answer was not truncated there', async () => {
    await commit(upTo(20));
    const rejected = [19, 40].map((at) => ({ raw: `{"period":${minute(at)}}`, reason: 'open: missing' }));
    expect(await answered([], { answer: { rejected }, ...requested(20, 40) })).toMatch(/^filled/);
    expect(await gaps()).toEqual(['40-60 not_asked']);
  });

  it('reopens the silence that a point inside coverage refutes, up to the points beside it', async () => {
    await commit([...upTo(20), candle(59)]);
    expect(await gaps()).toEqual([]);
    // As a witness of the window after it.
    const shown = await commit(candlesOf(39, 60), { ...requested(40, 60), lane: 'reread' });
    expect(shown).toMatchObject({ covered: minutes(40, 60), fresh: 20 });
    expect(await gaps()).toEqual(['20-39 not_asked']);
    expect((await stored()).map(({ time }) => time)).toContain(minute(39));
    expect(await known('points')).toEqual({ points: 41 });
    await commit(candlesOf(19, 41), requested(20, 39));
    expect(await gaps()).toEqual([]);
  });

  it('reopens a confirmed empty range when a truncated answer has points there', async () => {
    await commit([]);
    await commit([], later(1));
    expect(await gaps()).toEqual([]);
    await commit(candlesOf(10, 30), { lane: 'repair' });
    expect(await gaps()).toEqual(['0-10 not_asked', '30-60 not_asked']);
  });

  it('uses a larger answer of another series as proof that pauses of a thin market were not truncated', async () => {
    const other = { ...series, baseId: `${series.baseId}-beside` };
    const { seriesId: otherId } = await trackSeries(store.database, other, window.startMs, window.endMs);
    const thin = upTo(60).filter((_, index) => index % 4 === 0);
    expect(await answered(thin)).toBe('cut_short 0-57');
    await commit(upTo(60), { seriesId: otherId, series: other });
    expect(await answered(thin)).toBe('filled 0-60');
  });

  it('uses no answer of another interval or dataset as such proof, nor an old one', async () => {
    const hours = { ...series, interval: 'h1' as const };
    const { seriesId: hoursId } = await trackSeries(store.database, hours, window.startMs, window.endMs);
    const rows = Array.from({ length: 50 }, (_, hour) => candle((hour - 50) * 60));
    await commit(rows, { seriesId: hoursId, series: hours, ...within(-50 * 60, 0) });
    await commit(upTo(21), { ...within(0, 21), ...later(-2) });
    expect(await answered(upTo(20), within(0, 40))).toMatch(/^cut_short/);
  });

  it('stores the open candle without covering it', async () => {
    await commit(upTo(31), { nowMs: minute(30) + 20_000, graceMs: 0 });
    expect(await stored()).toHaveLength(31);
    expect(await known('upper(covered) as upto')).toEqual({ upto: minute(30) });
  });

  it('covers no period that had not closed when an answer without a timestamp was requested', async () => {
    const answer = { sourceTimeMs: null, durationMs: 20_000 };
    await commit(upTo(31), { answer, nowMs: minute(31), graceMs: 0 });
    expect(await known('upper(covered) as upto')).toEqual({ upto: minute(30) });
  });

  it('covers nothing when no row is readable, or none belongs to the window', async () => {
    const rejected = [{ raw: '{"message":"unavailable"}', reason: 'open: missing' }];
    expect(await commit([], { answer: { rejected } })).toMatchObject({ covered: null });
    expect(await gaps()).toEqual(['0-60 failed']);
    expect(await commit([candle(500), candle(501)])).toMatchObject({ covered: null });
    expect(await gaps()).toEqual(['0-60 failed']);
  });

  it('keeps no revision of an open candle', async () => {
    const openMs = minute(30) + 20_000;
    await commit(upTo(31), { nowMs: openMs, graceMs: 0 });
    const closed = await commit([...upTo(30), candle(30, '7')], { nowMs: openMs + minuteMs, graceMs: 0 });
    expect(closed).toMatchObject({ changed: 1 });
    expect(await select('1', 'point_revisions where series_id = $1')).toEqual([]);
  });

  it('drops points outside the window, sorts the rest and takes the last of a duplicate', async () => {
    const result = await commit([candle(5, '2'), candle(3), candle(5, '3'), candle(-1, '9'), candle(60)]);
    expect(result).toMatchObject({ fresh: 2, dropped: 3 });
    expect((await stored()).map((row) => [row.time, row.close])).toEqual([
      [minute(3), '1.3000'],
      [minute(5), '3'],
    ]);
  });

  it('keeps rejected rows in quarantine, once, and the rest of the window', async () => {
    const answer = { rejected: [{ raw: '{"high":"1\u0000"}', reason: 'high below low' }] };
    await commit(candlesOf(1, 60), { answer });
    // The row does not tell its period, so it proves none.
    expect(await answered(candlesOf(1, 60), { answer })).toBe('cut_short 1-60');
    expect(await select('reason', 'quarantine where series_id = $1')).toEqual([{ reason: 'high below low' }]);
  });

  it('tells the ledger why rows were rejected, and of what use the others were', async () => {
    const told = async () => (await select('verdict, rejected, rejected_for, body', lastFetch))[0];
    const lastFetch = 'fetches where series_id = $1 order by time desc limit 1';
    const reason = 'another row of the same period has other values';
    const rejected = ['1', '2'].map((high) => ({
      ...{ raw: `{"high":"${high}","period":${minute(30)}}`, reason, isDisputed: true },
    }));
    const body = '{"data":[{"high":"1"}]}';
    const beside = [candle(29), candle(31)];
    expect(await commit([...beside], { answer: { rejected, body }, ...requested(30, 31) })).toMatchObject({
      ...{ verdict: 'unreadable', rejected: 2, rejectedFor: reason, unusable: [minutes(30, 31)] },
    });
    expect(await told()).toEqual({ verdict: 'unreadable', rejected: 2, rejected_for: reason, body });
    const others = {
      ...later(1),
      answer: { rejected: [...rejected, { raw: '\u0000', reason: 'not an object' }], body },
    };
    const whole = [...candlesOf(0, 30), ...candlesOf(31, 60)];
    expect(await commit(whole, others)).toMatchObject({ verdict: 'filled', unusable: [minutes(30, 31)] });
    const both = `${reason}, and 1 other reason`;
    expect(await told()).toEqual({ verdict: 'filled', rejected: 3, rejected_for: both, body });
    await commit(upTo(60), { ...later(2), answer: { body } });
    expect(await told()).toEqual({ verdict: 'filled', rejected: 0, rejected_for: null, body: null });
  });

  const inSeconds = { raw: 'in another unit', reason: 'the time is not in milliseconds', timeMs: startMs };

  it('leaves a file without a readable row to the next source, as one that is absent', async () => {
    for (const isWhole of [false, true]) {
      const answer = { rejected: [inSeconds], isWhole, sourceTimeMs: null };
      expect(await answered([], { answer })).toBe('unreadable');
      expect(await pending()).toEqual([{ reason: isWhole ? 'unusable_file' : 'unreadable' }]);
    }
  });

  it('counts a row in quarantine as unresolved until a point of its period comes', async () => {
    const rejected = [
      { raw: `{"high":null,"period":${minute(7)}}`, reason: 'high: not a decimal' },
      { raw: '"nothing that tells its time"', reason: 'not an object' },
      { raw: '{"period":0}', reason: 'high: missing' },
    ];
    await commit(candlesOf(8, 60), { answer: { rejected } });
    const named = async () =>
      (await readQuarantined.on(store.database.pool, {})).filter((entry) => entry.seriesId === seriesId);
    expect(await named()).toMatchObject([{ rows: 3 }]);
    const shown = async () => {
      const query = { nowMs, graceMs: 0, seriesIds: [seriesId] };
      return (await seriesStatus(store.database, query)).map(({ quarantined }) => quarantined);
    };
    const narrow = (from: number, to: number) =>
      store.database.pool.query(
        'update tidemark.series set tracked = tstzrange(to_timestamp($2), to_timestamp($3)) where id = $1',
        [seriesId, minute(from) / 1000, minute(to) / 1000],
      );
    // The first row is of a period that is no longer tracked.
    await narrow(8, 60);
    expect([await named(), await shown()]).toMatchObject([[{ rows: 2 }], [2]]);
    await narrow(60, 70);
    expect([await named(), await shown()]).toMatchObject([[], [0]]);
    await narrow(0, 60);
    expect([await named(), await shown()]).toMatchObject([[{ rows: 3 }], [3]]);
    await commit(upTo(59));
    expect(await named()).toEqual([]);
  });

  it('counts a row without a usable time as unresolved until every period of its window has a point', async () => {
    const history = { dataset: 'asset_history', assetId: `asset-${market}`, interval: 'm1' } as const;
    const { seriesId: historyId } = await trackSeries(store.database, history, window.startMs, window.endMs);
    const rejected = [{ raw: '"nothing that tells its time"', reason: 'not an object' }];
    const point = (time: EpochMs) => ({ time, priceUsd: decimalText('1.0') });
    const points = Array.from({ length: 60 }, (_, index) => point(minute(index) + 7));
    const windows = new Map([seriesId, historyId].map((id) => [id, window]));
    const counts = () => countRejected(store.database, windows);
    await commit(upTo(59), { answer: { rejected } });
    const of = { seriesId: historyId, series: history };
    // A period may have several points.
    await commit([...points.slice(1), point(minute(3) + 30_000)], { ...of, answer: { rejected } });
    expect(await counts()).toBe(2);
    await commit(upTo(60));
    expect(await counts()).toBe(1);
    await commit(points, of);
    expect(await counts()).toBe(0);
  });

  it('shows a deferred window with its reason, leaves it out until its time, and then covers it', async () => {
    await failed();
    expect(await gaps()).toEqual(['0-60 failed']);
    expect([await planned(nowMs), (await planned(nowMs + hourMs))?.gaps]).toEqual([undefined, ['0-60']]);
    await commit(upTo(60));
    expect(await gaps()).toEqual([]);
    expect(await pending()).toEqual([]);
  });

  it('deletes a deferred window when others have covered it piece by piece', async () => {
    await failed();
    await commit(upTo(30), within(0, 30));
    expect(await pending()).toHaveLength(1);
    await commit(candlesOf(30, 60), within(30, 60));
    expect(await pending()).toEqual([]);
  });

  it('does not defer a window that is covered already', async () => {
    await commit(upTo(60));
    await failed();
    await commit([], { answer: { rejected: [{ raw: '{}', reason: 'open: missing' }] } });
    await commit([], { answer: { sourceTimeMs: startMs - 1 } });
    expect(await pending()).toEqual([]);
  });

  it('counts every row against a cap, dropped ones included', async () => {
    const { verdict, covered } = await commit([candle(0), ...upTo(50), candle(60)]);
    expect(verdict).toBe('cut_short');
    expect(covered?.endMs).toBeLessThanOrEqual(minute(50));
  });

  it('calls no period empty that holds a point, such as an open candle', async () => {
    await commit(upTo(1), { nowMs: startMs + 1000, graceMs: 0 });
    await commit([]);
    await commit([], later(1));
    const columns = 'confirmed_empty @> $2::timestamptz as empty, covered = tstzmultirange(tracked) as whole';
    expect(await known(columns, startMs)).toEqual({ empty: false, whole: true });
  });

  it('loses nothing when the same window is committed by many at once', async () => {
    const results = await Promise.all(Array.from({ length: 8 }, () => commit(upTo(60))));
    expect(results.reduce((sum, result) => sum + result.fresh, 0)).toBe(60);
    expect(await stored()).toHaveLength(60);
    expect(await known('points')).toEqual({ points: 60 });
  });

  it('stores neither points nor coverage when any part of the commit fails', async () => {
    const { pool } = store.database;
    await pool.query('alter table tidemark.fetches add constraint broken check (attempt < 99)');
    await expect(commit(upTo(60), { attempt: 99 })).rejects.toThrow(/broken/);
    await pool.query('alter table tidemark.fetches drop constraint broken');
    expect(await stored()).toEqual([]);
    expect(await gaps()).toEqual(['0-60 not_asked']);
  });

  it.each([[[]], [upTo(60)]])('stores nothing under an id that another series has by now', async (rows) => {
    const other = { ...series, baseId: 'restored' };
    await expect(commit(rows, { series: other })).rejects.toMatchObject({
      code: 'UNKNOWN_SERIES',
      message: `series ${seriesId} is x base-${market}/tether m1, and not x restored/tether m1`,
    });
    expect(await stored()).toEqual([]);
    expect(await gaps()).toEqual(['0-60 not_asked']);
  });
});
