/** Windows of candles and histories, committed as a worker does. */

import type { DatasetName } from '../../model/datasets/index.ts';
import { decimalText } from '../../model/decimal.ts';
import { type EpochMs, hourMs, intervalMs, minuteMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { commitWindows } from '../../store/commit/commit-windows.ts';
import { prepareWindow, type WindowCommit, type WindowResult } from '../../store/commit/prepare-window.ts';
import type { Database } from '../../store/db/database.ts';
import { timestamp } from '../../store/db/values.ts';
import { commitPage, type PageCommit } from '../../store/lists/commit-page.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import { pointLinesOf } from '../parts/points.ts';
import { fillOf, rulesOf } from '../parts/windows.ts';

/** Commits the answer to one request. */
export async function commitWindow(database: Database, commit: WindowCommit): Promise<WindowResult> {
  const [result] = await commitWindows(database, [prepareWindow(commit)]);
  if (result === undefined) throw new Error('a commit without a result');
  return result;
}

/** A value that identifies its time, with more digits than a double holds. */
export function closeAt(timeMs: EpochMs): string {
  return `${timeMs}.1234567890123450`;
}

/** Every point of the window, with some values replaced. */
export function pointsOf(series: SeriesKey, window: Range, changed: ReadonlyMap<EpochMs, string> = new Map()) {
  const times: EpochMs[] = [];
  for (let at = window.startMs; at < window.endMs; at += intervalMs[series.interval]) times.push(at);
  return times.map((timeMs): Candle | HistoryPoint => {
    const value = decimalText(changed.get(timeMs) ?? closeAt(timeMs));
    return series.dataset === 'candles'
      ? { open: value, high: value, low: value, close: value, volume: value, period: timeMs }
      : { time: timeMs, priceUsd: value };
  });
}

/** An answer of a source that is well. */
export function answerOf<Row, More extends object>(rows: readonly Row[], sourceTimeMs: EpochMs, more?: More) {
  return { rows, rejected: [], sourceTimeMs, status: 200, bytes: 1, durationMs: 1, ...more };
}

/** The same, of points in the form of the interface. */
export function pointAnswerOf<More extends object>(
  dataset: DatasetName,
  rows: readonly object[],
  sourceTimeMs: EpochMs,
  more?: More,
) {
  return { ...answerOf([], sourceTimeMs, more), rows: pointLinesOf(dataset, rows) };
}

export function commitPoints(
  database: Database,
  of: { seriesId: number; series: SeriesKey; window: Range; changed?: ReadonlyMap<EpochMs, string> },
): Promise<WindowResult> {
  const { seriesId, series, window, changed } = of;
  const nowMs = Date.now();
  return commitWindow(database, {
    window: fillOf({ seriesId, series, ...window }),
    answer: pointAnswerOf(series.dataset, pointsOf(series, window, changed), nowMs),
    ...{ attempt: 1, nowMs, rules: rulesOf(minuteMs) },
  } as WindowCommit);
}

/** Commits a poll of the rates: USD for one unit of each currency. */
export async function commitRatesOf(
  database: Database,
  timeMs: EpochMs,
  rates: Readonly<Record<string, string>>,
): Promise<void> {
  const rows = Object.entries(rates).map(([id, rateUsd]) => ({
    ...{ id, symbol: symbols[id] ?? id.toUpperCase(), currencySymbol: null, type: 'fiat' },
    rateUsd: decimalText(rateUsd),
  }));
  await commitRates(database, { answer: answerOf(rows, timeMs), nowMs: timeMs });
}

/** Commits a poll of the rates, whether one is due or not. */
export async function commitRates(database: Database, of: Pick<PageCommit, 'answer' | 'nowMs'>): Promise<void> {
  const list = { dataset: 'rates', asset: null } as const;
  const begun = await database.pool.query<{ id: number }>(
    `with rates as (
       insert into tidemark.lists (list, every, untracked_at, decided) values ('rates', '5 minutes', now(), false)
       on conflict (list, asset) do update set decided = lists.decided returning id
     )
     insert into tidemark.list_polls (list_id, begun_at) select id, $1 from rates returning id`,
    [timestamp(of.nowMs)],
  );
  const page = { pollId: begun.rows[0]?.id ?? 0, list, firstRow: 0 };
  await commitPage(database, { ...of, page, attempt: 1, confirmMs: hourMs });
}

const symbols: Readonly<Record<string, string>> = { euro: 'EUR', tether: 'USDT', 'mexican-peso': 'MXN' };

/** Every stored value of a series, as text by time. */
export async function storedPoints(
  database: Database,
  of: { seriesId: number; series: SeriesKey },
): Promise<Map<EpochMs, string>> {
  const [table, column] =
    of.series.dataset === 'candles' ? ['candle_points', 'close'] : ['asset_history_points', 'price_usd'];
  const result = await database.pool.query<{ time: EpochMs; value: string }>(
    `select time, ${column}::text as value from tidemark.${table} where series_id = $1 order by time`,
    [of.seriesId],
  );
  return new Map(result.rows.map((row) => [row.time, row.value]));
}
