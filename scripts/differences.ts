/** Differences between what is stored and what the source gives, for people and for programs. */

import { type SeriesKey, seriesName } from '../contract/series.ts';
import type { Difference } from '../store/differences.ts';
import type { SettledWindow } from './ask-windows.ts';
import { count, counted, moment } from './wording.ts';

/** Of each window the first few; a window that came empty would fill pages. */
const mostShown = 10;

/** A paragraph for each window that differs: where, how many points, and the first of them with both values. */
export function differencesText(
  windows: readonly SettledWindow[],
  differences: readonly Difference[],
): string[] {
  return windows.flatMap((settled) => {
    const { seriesId, series, startMs, endMs } = settled.window;
    const own = differences.filter(
      (one) => one.seriesId === seriesId && one.timeMs >= startMs && one.timeMs < endMs,
    );
    const kinds = [
      settled.changed > 0 ? `${count(settled.changed)} changed` : '',
      settled.missingHere > 0 ? `${count(settled.missingHere)} missing here` : '',
      settled.missingThere > 0 ? `${count(settled.missingThere)} missing at the source` : '',
    ].filter((text) => text !== '');
    const shown = own.slice(0, mostShown).map((one) => `  ${moment(one.timeMs)}  ${sides(one)}`);
    const rest = own.length - shown.length;
    return [
      `${seriesName(series)} (${seriesId}), ${moment(startMs)} to ${moment(endMs)}: ${kinds.join(', ')}`,
      ...shown,
      ...(rest > 0 ? [`  and ${counted(rest, 'point')} more, which --json lists`] : []),
    ];
  });
}

function sides({ kind, here, there }: Difference): string {
  if (kind === 'missing_here') return `missing here, at the source ${values(there)}`;
  if (kind === 'missing_there') return `missing at the source, here ${values(here)}`;
  const changed = Object.keys(here ?? {}).filter((column) => here?.[column] !== there?.[column]);
  return changed
    .map((column) => `${column} here ${here?.[column]}, at the source ${there?.[column]}`)
    .join('; ');
}

function values(point: Difference['here']): string {
  return Object.entries(point ?? {})
    .map(([column, value]) => `${column} ${value}`)
    .join(', ');
}

export function differenceJson(windows: readonly SettledWindow[], differences: readonly Difference[]) {
  const names = new Map<number, SeriesKey>(
    windows.map(({ window }): [number, SeriesKey] => [window.seriesId, window.series]),
  );
  return differences.map(({ seriesId, timeMs, kind, here, there }) => ({
    seriesId,
    series: names.get(seriesId),
    time: new Date(timeMs).toISOString(),
    kind,
    here,
    there,
  }));
}
