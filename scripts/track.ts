/** `tidemark track candles|history|assets|...`: says what is wanted; `run` or `worker` then fetches it. */

import type { Command } from 'commander';
import { seriesName } from '../contract/series.ts';
import { type TrackedSeries, trackSeries } from '../store/series.ts';
import { addSelections, type SelectingOptions, type Selection } from './selectors.ts';
import { openSession } from './session.ts';
import { addTrackedLists } from './track-lists.ts';
import { withinRetention } from './within-retention.ts';
import { moment } from './wording.ts';

export function trackCommand(program: Command): void {
  const track = program
    .command('track')
    .description(
      'follow series, whose past is backfilled and whose present is refreshed by `run`, and lists, which it polls',
    )
    .helpCommand(false);
  addSelections(track, { json: 'print what is tracked as JSON, a line a series' }, run);
  addTrackedLists(track);
}

async function run(asked: Selection, options: SelectingOptions): Promise<void> {
  const session = await openSession({ command: 'track', defaultLogLevel: 'warn' });
  try {
    const selection = await withinRetention(session, asked);
    for (const series of selection.series) {
      const result = await trackSeries(
        session.database,
        series,
        selection.trackFromMs(series),
        selection.toMs,
      );
      console.log(options.json ? JSON.stringify(asJson(result)) : asText(result));
    }
  } finally {
    await session.close();
  }
}

const changes: Readonly<Record<TrackedSeries['change'], string>> = Object.freeze({
  created: 'tracking',
  resumed: 'tracking again',
  widened: 'tracking already, range widened:',
  unchanged: 'tracking already, range unchanged:',
});

/** The range is the whole one, which may be wider than what was asked for. */
function asText({ seriesId, series, tracked, change }: TrackedSeries): string {
  const to = tracked.endMs === null ? 'now on' : moment(tracked.endMs);
  return `${changes[change]} ${seriesName(series)} from ${moment(tracked.startMs)} to ${to} (id ${seriesId})`;
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
