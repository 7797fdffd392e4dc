/** Series put together until there are as few lines as there is room for. */

import { type SeriesKey, seriesName } from '../contract/series.ts';

/** How far one series is. */
export interface Portion {
  readonly series: SeriesKey;
  /** Lengths of history, milliseconds. */
  readonly wantedMs: number;
  readonly doneMs: number;
  readonly windowsLeft: number;
}

export interface Group extends Omit<Portion, 'series'> {
  readonly name: string;
  /** The name where there is little room: without the number of its series, so that the interval keeps its place. */
  readonly brief: string;
  readonly series: number;
}

/** More bars than these nobody reads one by one, however tall the terminal. */
const mostSingle = 12;

/**
 * A group for each series where they are few; else for each dataset, exchange and interval, as many as there is room
 * for, those first that are not done, and the rest in one.
 *
 * @param room lines there are, at least one.
 */
export function grouped(portions: readonly Portion[], room: number): readonly Group[] {
  if (portions.length <= Math.min(room, mostSingle)) return portions.map((portion) => groupOf([portion]));
  const kinds = new Map<string, Portion[]>();
  for (const portion of portions) {
    const kind = kindOf(portion.series);
    const others = kinds.get(kind);
    if (others === undefined) kinds.set(kind, [portion]);
    else others.push(portion);
  }
  const groups = [...kinds.values()];
  if (groups.length <= room) return groups.map(groupOf);
  const isDone = (group: readonly Portion[]) => group.every((portion) => portion.doneMs >= portion.wantedMs);
  const ordered = [...groups.filter((group) => !isDone(group)), ...groups.filter(isDone)];
  const shown = ordered.slice(0, Math.max(0, room - 1));
  const rest = ordered.slice(shown.length);
  const name = shown.length === 0 ? `${portions.length} series` : `and ${rest.length} more`;
  return [...shown.map(groupOf), { ...groupOf(rest.flat()), name, brief: name }];
}

function kindOf(series: SeriesKey): string {
  return series.dataset === 'candles'
    ? `${series.exchange} ${series.interval}`
    : `history ${series.interval}`;
}

function groupOf(portions: readonly Portion[]): Group {
  const [first] = portions;
  const total = (amount: (portion: Portion) => number) =>
    portions.reduce((sum, portion) => sum + amount(portion), 0);
  const isOne = portions.length === 1;
  const brief = first === undefined ? '' : isOne ? seriesName(first.series) : kindOf(first.series);
  return {
    name: isOne || first === undefined ? brief : `${brief} (${portions.length})`,
    brief,
    series: portions.length,
    wantedMs: total(({ wantedMs }) => wantedMs),
    doneMs: total(({ doneMs }) => doneMs),
    windowsLeft: total(({ windowsLeft }) => windowsLeft),
  };
}
