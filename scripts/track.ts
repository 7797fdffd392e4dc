/** `tidemark track candles|history ...`: says what is wanted; `run` or `worker` then fetches it. */

import type { Command } from 'commander';
import { seriesName } from '../contract/series.ts';
import { trackSeries } from '../store/series.ts';
import { addSelections, type SelectingOptions, type Selection } from './selectors.ts';
import { openSession } from './session.ts';
import { withinRetention } from './within-retention.ts';
import { moment } from './wording.ts';

export function trackCommand(program: Command): void {
  const track = program
    .command('track')
    .description('follow series: their past is backfilled and their present refreshed by `run`')
    .helpCommand(false);
  addSelections(track, 'print what is tracked as JSON, a line a series', run);
}

async function run(asked: Selection, options: SelectingOptions): Promise<void> {
  const session = await openSession({ command: 'track', defaultLogLevel: 'warn' });
  try {
    const selection = await withinRetention(session, asked);
    for (const series of selection.series) {
      const { seriesId, created } = await trackSeries(
        session.database,
        series,
        selection.trackFromMs(series),
        selection.toMs,
      );
      const to = selection.toMs === null ? 'now on' : moment(selection.toMs);
      console.log(
        options.json
          ? JSON.stringify({ seriesId, ...series, created })
          : `${created ? 'tracking' : 'tracking already, now also'} ${seriesName(series)} from ${moment(selection.fromMs)} to ${to} (id ${seriesId})`,
      );
    }
  } finally {
    await session.close();
  }
}
