/** Reports of `verify` and `repair`: differences from the source, and unanswered windows. */

import { TidemarkError } from '../../errors.ts';
import { counted, formatCount, formatTime, nonEmpty } from '../../model/format.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { type RecheckedWindow, unusableKind } from '../../operations/recheck-state.ts';
import type { Difference } from '../../store/commit/differences.ts';

/** Printed differences per window, and series with unanswered windows. */
const maxShown = 10;

const unusableRemedy = 'set it; `verify --against SOURCE` compares with another source';

/**
 * A paragraph per differing window: its range, the counts, and the first points with both values.
 *
 * @param source that the windows were compared with: `the source`, or its name.
 */
export function differencesText(
  windows: readonly RecheckedWindow[],
  differences: readonly Difference[],
  source: string,
): string[] {
  return windows.flatMap((settled) => {
    const { seriesId, series, startMs, endMs } = settled.window;
    const own = differences.filter((one) => one.seriesId === seriesId && one.timeMs >= startMs && one.timeMs < endMs);
    const kinds = nonEmpty([
      settled.changed > 0 ? `${formatCount(settled.changed)} changed` : '',
      settled.missingHere > 0 ? `${formatCount(settled.missingHere)} missing here` : '',
      settled.missingThere > 0 ? `${formatCount(settled.missingThere)} missing at ${source}` : '',
    ]);
    const shown = own.slice(0, maxShown).map((one) => `  ${formatTime(one.timeMs)}  ${sides(one, source)}`);
    const rest = own.length - shown.length;
    return [
      `${seriesName(series)} (${seriesId}), ${formatTime(startMs)} to ${formatTime(endMs)}: ${kinds.join(', ')}`,
      ...shown,
      ...(rest > 0 ? [`  and ${counted(rest, 'point')} more (see --json)`] : []),
    ];
  });
}

function sides({ kind, here, there }: Difference, source: string): string {
  if (kind === 'missing_here') return `missing here, at ${source} ${values(there)}`;
  if (kind === 'missing_there') return `missing at ${source}, here ${values(here)}`;
  const changed = Object.keys(here ?? {}).filter((column) => here?.[column] !== there?.[column]);
  return changed.map((column) => `${column} here ${here?.[column]}, at ${source} ${there?.[column]}`).join('; ');
}

function values(point: Difference['here']): string {
  return Object.entries(point ?? {})
    .map(([column, value]) => `${column} ${value}`)
    .join(', ');
}

export function differenceJson(windows: readonly RecheckedWindow[], differences: readonly Difference[]) {
  const names = new Map(windows.map(({ window }) => [window.seriesId, seriesJson(window.series)] as const));
  return differences.map(({ seriesId, timeMs, kind, here, there }) => ({
    seriesId,
    series: names.get(seriesId),
    time: new Date(timeMs).toISOString(),
    kind,
    here,
    there,
  }));
}

export function unansweredJson(windows: readonly RecheckedWindow[]) {
  return windows.map(({ window, message }) => ({
    seriesId: window.seriesId,
    start: new Date(window.startMs).toISOString(),
    end: new Date(window.endMs).toISOString(),
    message,
  }));
}

/** A line for each series, with the reason of its first window. @param what the failed action, such as `compared`. */
export function unansweredText(windows: readonly RecheckedWindow[], what: string): string[] {
  const bySeries = new Map<number, RecheckedWindow[]>();
  for (const one of windows) bySeries.set(one.window.seriesId, [...(bySeries.get(one.window.seriesId) ?? []), one]);
  const lines = [...bySeries].flatMap(([id, of]) => {
    const [first] = of;
    if (first === undefined) return [];
    const name = `${seriesName(first.window.series)} (${id})`;
    return [`${name}: ${counted(of.length, 'window')} could not be ${what}: ${first.message}`];
  });
  const rest = lines.length - maxShown;
  return rest > 0 ? [...lines.slice(0, maxShown), `and windows of ${rest} more series`] : lines;
}

/**
 * @param what the failed action, such as `compared`.
 * @throws TidemarkError WINDOWS_UNANSWERED unless there is none.
 */
export function refuseUnanswered(windows: readonly RecheckedWindow[], what: string): void {
  const [first] = windows;
  if (first === undefined) return;
  throw new TidemarkError(
    'WINDOWS_UNANSWERED',
    `${counted(windows.length, 'window')} could not be ${what}, the first: ${first.message}`,
    first.kind === unusableKind ? { remedy: unusableRemedy } : {},
  );
}
