/**
 * The points of a window as the lines of text that COPY takes. In this form they wait for their commit: as tens of
 * thousands of small strings every garbage collection in between would copy them.
 */

import type { EpochMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import { timestamps } from './database.ts';

export interface PointLines {
  readonly dataset: 'candles' | 'asset_history';
  readonly timesMs: readonly EpochMs[];
  /** A line a point: series, time and decimals apart by tabs. Nothing in them needs escaping. */
  readonly lines: Buffer;
}

/** @param candles ascending, each period once. */
export function candleLines(seriesId: number, candles: readonly Candle[]): PointLines {
  const timesMs = candles.map((candle) => candle.period);
  const times = timestamps(timesMs);
  const lines = candles.map(
    ({ open, high, low, close, volume }, place) =>
      `${seriesId}\t${times[place]}\t${open}\t${high}\t${low}\t${close}\t${volume}\n`,
  );
  return { dataset: 'candles', timesMs, lines: bufferOf(lines) };
}

/** @param points ascending, each time once. */
export function historyLines(seriesId: number, points: readonly HistoryPoint[]): PointLines {
  const timesMs = points.map((point) => point.time);
  const times = timestamps(timesMs);
  const lines = points.map(({ priceUsd }, place) => `${seriesId}\t${times[place]}\t${priceUsd}\n`);
  return { dataset: 'asset_history', timesMs, lines: bufferOf(lines) };
}

/** What the lines hold, column by column, without the series. */
export function columnsOf({ lines }: PointLines): string[][] {
  const rows = lines
    .toString('latin1')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  return (rows[0] ?? []).slice(1).map((_, column) => rows.map((row) => row[column + 1] ?? ''));
}

/** Line by line: one string of all of them costs more to make. */
function bufferOf(lines: readonly string[]): Buffer {
  let bytes = 0;
  for (const line of lines) bytes += line.length;
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const line of lines) at += buffer.write(line, at, 'latin1');
  return buffer;
}
