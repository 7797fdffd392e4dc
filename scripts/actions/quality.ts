/** `tidemark quality [series...]`: what is odd in the stored points. It changes nothing. */

import { TidemarkError } from '../../errors.ts';
import { formatCount, formatDuration, formatTime, isoTime } from '../../model/format.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { withContext } from '../../runtime/context.ts';
import { onLongConnection } from '../../store/db/database.ts';
import { type Quality, readQuality, seriesToReport } from '../../store/status/quality.ts';
import { findSeries } from '../../store/status/series-history.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showPointProgress } from '../output/progress.ts';
import { type Column, table, terminalWidth } from '../output/table.ts';

export async function run(words: string[], options: { json?: true }): Promise<void> {
  const needs = { needsDatabase: true, handlesSignals: true, showsStored: true } as const;
  await withContext({ command: 'quality', ...needs }, async ({ database, clock }, signal) => {
    const points = await seriesToReport(database);
    const chosen = words.length === 0 ? [...points.keys()] : await findSeries(database, words);
    const pointsOf = (seriesIds: readonly number[]) => seriesIds.reduce((sum, id) => sum + (points.get(id) ?? 0), 0);
    const progress = showPointProgress(clock, 'quality', pointsOf(chosen));
    const found: Quality[] = [];
    try {
      await onLongConnection(database, signal, async (client) => {
        for (const [place, seriesId] of chosen.entries()) {
          const row = await readQuality(client, seriesId);
          if (row !== undefined) found.push(row);
          progress.update(pointsOf(chosen.slice(0, place + 1)));
        }
      });
    } catch (error) {
      if (signal.aborted)
        throw new TidemarkError('INTERRUPTED', `stopped after ${found.length} of ${chosen.length} series`, {
          remedy: 'name some of the series for a shorter report',
        });
      throw error;
    } finally {
      progress.stop();
    }
    if (options.json) {
      const document: JsonDocument<'quality'> = { series: found.map(asJson) };
      console.log(JSON.stringify(document, null, 2));
    } else console.log(qualityText(found, terminalWidth()));
  });
}

const none = '-';
const countText = (value: number | null) => (value === null ? '' : value === 0 ? none : formatCount(value));

/** Rounded so that only none is 0. */
function shareText(share: number | null): string {
  if (share === null) return '';
  if (share === 0) return none;
  return share < 0.0001 ? '< 0.01 %' : `${(share * 100).toFixed(2)} %`;
}

const columns: ReadonlyArray<Column<Quality>> = [
  { title: 'id', value: ({ seriesId }) => String(seriesId), right: true },
  { title: 'series', value: ({ series }) => seriesName(series), shorten: 'middle' },
  { title: 'points', value: ({ points }) => formatCount(points), right: true, omit: 7 },
  { title: 'gaps', value: ({ gaps }) => countText(gaps), right: true },
  { title: 'silences', value: ({ silences }) => countText(silences), right: true },
  { title: 'revised', value: ({ revisions }) => countText(revisions), right: true },
  { title: 'rejected', value: ({ quarantined }) => countText(quarantined), right: true },
  { title: 'inconsistent', value: ({ inconsistent }) => countText(inconsistent), right: true },
  { title: 'spikes', value: ({ spikes }) => countText(spikes), right: true },
  {
    title: 'largest',
    value: ({ largestSpike, largestSpikeMs }) =>
      largestSpikeMs === null ? '' : `${shareText(largestSpike)} at ${formatTime(largestSpikeMs)}`,
    omit: 4,
  },
  { title: 'same price', value: ({ unchanged }) => shareText(unchanged), right: true },
  {
    title: 'most in a row',
    value: ({ longestUnchanged, unchangedFromMs }) =>
      longestUnchanged === null || longestUnchanged < 2 || unchangedFromMs === null
        ? ''
        : `${formatCount(longestUnchanged)} from ${formatTime(unchangedFromMs)}`,
    omit: 3,
  },
  { title: 'no volume', value: ({ zeroVolume }) => shareText(zeroVolume), right: true },
  { title: 'empty', value: ({ empty }) => shareText(empty), right: true },
  {
    title: 'longest silence',
    value: ({ longestSilenceMs }) => (longestSilenceMs === null ? '' : formatDuration(longestSilenceMs)),
    right: true,
    omit: 2,
  },
];

/** @param width of a line; null: unlimited. */
function qualityText(found: readonly Quality[], width: number | null): string {
  return found.length === 0 ? 'no series has points yet' : table(columns, found, width);
}

function asJson({ seriesId, series, ...figures }: Quality): JsonDocument<'quality'>['series'][number] {
  const { longestSilenceMs, largestSpikeMs, unchangedFromMs, ...rest } = figures;
  return {
    seriesId,
    series: seriesJson(series),
    ...rest,
    longestSilenceSeconds: longestSilenceMs === null ? null : longestSilenceMs / 1000,
    largestSpikeTime: isoTime(largestSpikeMs),
    longestUnchangedFrom: isoTime(unchangedFromMs),
  };
}
