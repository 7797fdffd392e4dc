/** `tidemark track candles|history ...`: says what is wanted; `run` or `worker` then fetches it. */

import type { Command } from 'commander';
import { seriesName } from '../contract/series.ts';
import { trackSeries } from '../store/series.ts';
import {
  type CandleOptions,
  candleOptions,
  type HistoryOptions,
  historyOptions,
  type Selection,
  selectCandles,
  selectHistory,
} from './selectors.ts';
import { openSession } from './session.ts';
import { moment } from './wording.ts';

export function trackCommand(program: Command): void {
  const track = program
    .command('track')
    .description('follow series: their past is backfilled and their present refreshed by `run`')
    .helpCommand(false);
  const json = ['--json', 'print what is tracked as JSON'] as const;
  candleOptions(track.command('candles').description('candles of a market'))
    .option(...json)
    .action((options: CandleOptions & { json?: true }) => run(selectCandles(options, Date.now()), options));
  historyOptions(track.command('history').description('price history of an asset'))
    .option(...json)
    .action((options: HistoryOptions & { json?: true }) => run(selectHistory(options, Date.now()), options));
}

async function run(selection: Selection, options: { json?: true }): Promise<void> {
  const session = await openSession({ command: 'track', defaultLogLevel: 'warn' });
  try {
    for (const series of selection.series) {
      const { seriesId, created } = await trackSeries(
        session.database,
        series,
        selection.fromMs,
        selection.toMs,
      );
      const to = selection.toMs === null ? 'now on' : moment(selection.toMs);
      console.log(
        options.json
          ? JSON.stringify({ seriesId, ...series, created })
          : `${created ? 'tracking' : 'tracking already, range widened:'} ${seriesName(series)} from ${moment(selection.fromMs)} to ${to} (id ${seriesId})`,
      );
    }
  } finally {
    await session.close();
  }
}
