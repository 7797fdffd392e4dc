/** `tidemark track candles|history|assets|...`: tracks series and lists, which `run` or workers then fetch. */

import type { Command } from 'commander';
import { seriesName } from '../../contract/series.ts';
import { formatSpan } from '../../format.ts';
import { withContext } from '../../runtime/context.ts';
import { type TrackedSeries, trackSeries } from '../../store/series/series.ts';
import { addSelections, type SelectingOptions, type Selection } from '../input/selectors.ts';
import { withinRetention } from '../input/within-retention.ts';
import { addTrackedLists } from './track-lists.ts';

export function trackCommand(program: Command): void {
  const track = program.command('track').helpCommand(false);
  addSelections(track, { json: 'print the tracked series as JSON, a line each' }, run);
  addTrackedLists(track);
}

async function run(asked: Selection, options: SelectingOptions): Promise<void> {
  await withContext({ command: 'track', defaultLogLevel: 'warn' }, async (context) => {
    const selection = await withinRetention(context, asked);
    for (const series of selection.series) {
      const result = await trackSeries(
        context.database,
        series,
        selection.trackFromMs(series),
        selection.toMs,
      );
      console.log(options.json ? JSON.stringify(asJson(result)) : asText(result));
    }
  });
}

const changes: Readonly<Record<TrackedSeries['change'], string>> = Object.freeze({
  created: 'tracking',
  resumed: 'tracking again',
  widened: 'already tracked, range extended:',
  unchanged: 'already tracked, range unchanged:',
});

/** Shows the whole tracked range, which may be longer than the requested one. */
function asText({ seriesId, series, tracked, change }: TrackedSeries): string {
  return `${changes[change]} ${seriesName(series)} ${formatSpan(tracked)} (id ${seriesId})`;
}

function asJson({ seriesId, series, created, tracked, change }: TrackedSeries) {
  const iso = (timeMs: number | null) => (timeMs === null ? null : new Date(timeMs).toISOString());
  return {
    seriesId,
    ...series,
    created,
    change,
    tracked: { from: iso(tracked.startMs), to: iso(tracked.endMs) },
  };
}
