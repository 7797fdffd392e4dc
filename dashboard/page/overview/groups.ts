/** Series by exchange and interval. */

import type { SeriesLine } from '../../shapes.ts';
import { compare } from './series-rows.tsx';

export interface Group {
  readonly series: number;
  readonly wantedMs: number;
  readonly coveredMs: number;
  readonly failing: number;
  readonly awaiting: number;
  readonly behind: number;
}

/** In place of an exchange. */
const assets = 'assets';

export function exchangeOf({ exchange }: SeriesLine): string {
  return exchange ?? assets;
}

/** @returns exchanges in order of name, intervals from short to long, and what each pair has. */
export function groupSeries(lines: Iterable<SeriesLine>) {
  const groups = new Map<string, Map<string, Group>>();
  const intervals = new Map<string, number>();
  for (const line of lines) {
    const exchange = exchangeOf(line);
    const row = groups.get(exchange) ?? new Map<string, Group>();
    groups.set(exchange, row);
    intervals.set(line.interval, line.periodMs);
    row.set(line.interval, joined(row.get(line.interval), line));
  }
  return {
    intervals: [...intervals].sort(([, one], [, other]) => one - other).map(([name]) => name),
    rows: [...groups].sort(([one], [other]) => compare(one, other)),
  };
}

function joined(group: Group | undefined, line: SeriesLine): Group {
  return {
    series: (group?.series ?? 0) + 1,
    wantedMs: (group?.wantedMs ?? 0) + line.wantedMs,
    coveredMs: (group?.coveredMs ?? 0) + line.coveredMs,
    failing: (group?.failing ?? 0) + Number(line.failedMs > 0 || line.blocked !== null),
    awaiting: (group?.awaiting ?? 0) + Number(line.awaitingMs > 0),
    behind: (group?.behind ?? 0) + Number(line.behindMs > 0),
  };
}
