/** A comparison with another source than the one that gave the points. */

import { TidemarkError } from '../../errors.ts';
import { intervalMs } from '../../model/intervals.ts';
import { archivedUpTo, cutByFile } from '../../model/months.ts';
import { clip, type Range } from '../../model/ranges.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { longestRange } from '../../model/windows.ts';
import { oldestKept } from '../../planning/periods.ts';
import type { CoveredSeries } from '../../planning/sample.ts';
import { assertUsable, type ConfiguredSource } from '../../sources/configured.ts';
import type { SeriesSource } from '../../store/series/sources.ts';
import { readLongestRanges } from '../../store/settings/settings.ts';
import type { OperationContext } from '../context.ts';
import { sourceNamed, symbolsAt } from '../sources/markets.ts';
import type { SourcesOf } from '../sources/queues.ts';

export interface OtherSource {
  /** What both have: the covered ranges that the other source can be asked for. */
  readonly covered: readonly CoveredSeries[];
  readonly symbols: SourcesOf;
  readonly longestRangeMs: (series: SeriesKey) => number;
  /** What is left out, and why. */
  readonly notes: readonly string[];
}

/**
 * What of the covered series another source can be compared on.
 *
 * @throws TidemarkError BAD_ARGUMENT when there is no such source, or it has none of the series.
 */
export async function comparedWith(
  context: OperationContext,
  name: string,
  covered: readonly CoveredSeries[],
): Promise<OtherSource> {
  const nowMs = context.clock.now();
  const source = await sourceNamed(context, name);
  assertUsable(source);
  const symbols = await symbolsAt(context, source, covered, nowMs);
  const given = covered.filter(({ seriesId }) => symbols.has(seriesId));
  const [first] = covered.filter(({ seriesId }) => !symbols.has(seriesId));
  if (given.length === 0)
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `${name} has none of these series${first === undefined ? '' : `, such as ${seriesName(first.series)}`}`,
      { remedy: 'docs/sources.md lists what each source gives; `aliases` of the watch list join its names' },
    );
  const accepted = await readLongestRanges(context.database, name);
  const isArchive = source.files !== null;
  return {
    covered: given.map((entry) => ({ ...entry, ranges: askable(entry, source, nowMs) })),
    symbols: new Map<number, SeriesSource>(
      [...symbols].map(([id, symbol]) => [id, { source: name, symbol, isArchive }]),
    ),
    // The ranges of an archive are those of its files already, and have no room for witnesses.
    longestRangeMs: (series) => (isArchive ? 31 * intervalMs.d1 : longestRange(series, source.rangeLimits, accepted)),
    notes:
      first === undefined
        ? []
        : [`${name} does not have ${covered.length - given.length} series, such as ${seriesName(first.series)}`],
  };
}

function askable({ series, ranges }: CoveredSeries, source: ConfiguredSource, nowMs: number): Range[] {
  const { files, depthPeriods } = source;
  if (files !== null)
    return clip(ranges, {
      startMs: Number.NEGATIVE_INFINITY,
      endMs: archivedUpTo(nowMs, files),
    }).flatMap((range) => [...cutByFile(range, files)]);
  if (depthPeriods === null) return [...ranges];
  return clip(ranges, { startMs: oldestKept(series, depthPeriods, nowMs), endMs: Number.POSITIVE_INFINITY });
}
