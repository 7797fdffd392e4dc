/** Groups series until they fit the available lines, and draws a bar per group. */

import stringWidth from 'string-width';
import { datasets } from '../../model/datasets/index.ts';
import { formatCount, formatPercent } from '../../model/format.ts';
import { isOfMarket, type SeriesKey, seriesName } from '../../model/series.ts';
import type { Portion } from '../../planning/progress.ts';
import { bar, fitted, type Space } from './terminal.ts';

export interface Group extends Omit<Portion, 'series'> {
  readonly name: string;
  /** The name for narrow terminals, without the number of series. */
  readonly brief: string;
  readonly series: number;
}

/** More series than this are grouped, even on a tall terminal. */
const maxSingle = 12;

/**
 * Returns a group per series if there are few. Otherwise it groups by dataset, exchange and interval, puts incomplete
 * groups first, and merges those that do not fit.
 *
 * @param room available lines, at least one.
 */
export function grouped(portions: readonly Portion[], room: number): readonly Group[] {
  if (portions.length <= Math.min(room, maxSingle)) return portions.map((portion) => groupOf([portion]));
  const groups = [...byKind(portions).values()];
  if (groups.length <= room) return groups.map(groupOf);
  const isDone = (group: readonly Portion[]) => group.every((portion) => portion.doneMs >= portion.wantedMs);
  const ordered = [...groups.filter((group) => !isDone(group)), ...groups.filter(isDone)];
  const shown = ordered.slice(0, Math.max(0, room - 1));
  const rest = ordered.slice(shown.length);
  const name = shown.length === 0 ? `${portions.length} series` : `and ${rest.length} more`;
  return [...shown.map(groupOf), { ...groupOf(rest.flat()), name, brief: name }];
}

/** Groups rows by exchange and interval of their series. */
export function byKind<Row extends { readonly series: SeriesKey }>(rows: readonly Row[]): Map<string, Row[]> {
  const kinds = new Map<string, Row[]>();
  for (const row of rows) {
    const kind = kindOf(row.series);
    const others = kinds.get(kind);
    if (others === undefined) kinds.set(kind, [row]);
    else others.push(row);
  }
  return kinds;
}

/** Exchange and interval, or `history` and interval. */
function kindOf(series: SeriesKey): string {
  return `${isOfMarket(series) ? series.exchange : datasets[series.dataset].word} ${series.interval}`;
}

function groupOf(portions: readonly Portion[]): Group {
  const [first] = portions;
  const total = (amount: (portion: Portion) => number) => portions.reduce((sum, portion) => sum + amount(portion), 0);
  const isOne = portions.length === 1;
  const brief = first === undefined ? '' : isOne ? seriesName(first.series) : kindOf(first.series);
  return {
    name: isOne || first === undefined ? brief : `${brief} (${portions.length})`,
    brief,
    series: portions.length,
    wantedMs: total(({ wantedMs }) => wantedMs),
    doneMs: total(({ doneMs }) => doneMs),
    left: total(({ left }) => left),
    requests: total(({ requests }) => requests),
  };
}

const shareWidth = 8;
/** Names take precedence: a short bar is still readable. */
const minBar = 10;
const longestBar = 40;
/** Narrower terminals omit the number of requests to go. */
const roomy = 60;

/** Draws a bar per group, in lines of at most `columns - 1`. */
export function groupBars(groups: readonly Group[], space: Space): readonly string[] {
  const width = space.columns - 1;
  const rests = groups.map(restOf);
  const restWidth = width < roomy ? 0 : 1 + widest(rests);
  const room = Math.max(2, width - shareWidth - restWidth - 2);
  const maxName = Math.max(1, room - minBar);
  const whole = groups.map(({ name }) => name);
  const names = widest(whole) <= maxName ? whole : groups.map(({ brief }) => brief);
  const nameWidth = Math.min(widest(names), maxName);
  const barWidth = Math.min(longestBar, room - nameWidth);
  return groups.map(({ doneMs, wantedMs }, index) => {
    const share = formatPercent(doneMs, wantedMs).padStart(shareWidth);
    const parts = [
      fitted(names[index] ?? '', nameWidth),
      bar(doneMs, wantedMs, barWidth, space),
      doneMs >= wantedMs ? space.paint('green', share) : share,
    ];
    return parts.join(' ') + (restWidth === 0 ? '' : ` ${space.paint('dim', rests[index] ?? '')}`);
  });
}

/** `waits`: ranges await a second answer or the next attempt after a failure. */
function restOf({ doneMs, wantedMs, left }: Group): string {
  if (left > 0) return `${formatCount(left)} to go`;
  return doneMs >= wantedMs ? 'done' : 'waits';
}

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, stringWidth(text)), 0);
}
