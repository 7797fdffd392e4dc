/** Series by exchange and interval. */

import type { SeriesLine } from '../../shapes.ts';
import { compare } from './series-rows.tsx';

/** In place of an exchange. */
const assets = 'assets';

export function exchangeOf({ exchange }: SeriesLine): string {
  return exchange ?? assets;
}

/** @returns exchanges in order of name, intervals from short to long, and the series of each pair. */
export function groupSeries(lines: Iterable<SeriesLine>) {
  const groups = new Map<string, Map<string, SeriesLine[]>>();
  const intervals = new Map<string, number>();
  for (const line of lines) {
    const exchange = exchangeOf(line);
    const row = groups.get(exchange) ?? new Map<string, SeriesLine[]>();
    groups.set(exchange, row);
    intervals.set(line.interval, line.periodMs);
    const group = row.get(line.interval);
    if (group === undefined) row.set(line.interval, [line]);
    else group.push(line);
  }
  return {
    intervals: [...intervals].sort(([, one], [, other]) => one - other).map(([name]) => name),
    rows: [...groups].sort(([one], [other]) => compare(one, other)),
  };
}
