/** `tidemark gaps`: every gap as a range, with its reason. */

import type { Command } from 'commander';
import { seriesName } from '../contract/series.ts';
import { emptyMessage } from '../store/empty.ts';
import { type Gap, listGaps } from '../store/gaps.ts';
import { type Quarantined, quarantinedRows } from '../store/quarantine.ts';
import { openSession } from './session.ts';
import { type Column, table, terminalWidth } from './table.ts';
import { counted, duration, moment } from './wording.ts';

const reasons: Readonly<Record<Gap['reason'], string>> = Object.freeze({
  not_asked: 'not asked for yet',
  awaits_second_answer: 'answered empty, awaits a second answer',
  failed: 'failed',
  stale: 'answered from an old copy',
  blocked: 'refused by the source',
});

const columns: readonly Column<Gap>[] = [
  { title: 'id', value: (gap) => String(gap.seriesId), right: true },
  { title: 'series', value: (gap) => seriesName(gap.series), shorten: 'middle' },
  { title: 'from', value: (gap) => moment(gap.startMs) },
  { title: 'to', value: (gap) => moment(gap.endMs) },
  { title: 'length', value: (gap) => duration(gap.endMs - gap.startMs), right: true },
  { title: 'why', value: explain, shorten: 'end' },
];

export function gapsCommand(program: Command): void {
  program
    .command('gaps')
    .description('show every gap: what is tracked, has closed, and is not stored')
    .option(
      '--json',
      'one JSON document: {gaps: [{seriesId, series, start, end, reason, message, retryAt}], quarantined: [{seriesId, rows, reason}]}',
    )
    .action(run);
}

async function run(options: { json?: true }): Promise<void> {
  const session = await openSession({ command: 'gaps', defaultLogLevel: 'warn' });
  try {
    const gaps = await listGaps(session.database, {
      nowMs: Date.now(),
      graceMs: session.config.worker.graceMs,
    });
    const quarantined = await quarantinedRows(session.database);
    if (options.json) console.log(JSON.stringify({ gaps: gaps.map(asJson), quarantined }, null, 2));
    else {
      console.log(gaps.length === 0 ? 'no gaps' : table(columns, gaps, terminalWidth()));
      for (const line of quarantined.map(quarantineLine)) console.log(line);
    }
  } finally {
    await session.close();
  }
}

/** Rows that came and could not be used are no gaps: asking again brings them again. */
function quarantineLine({ seriesId, rows, reason }: Quarantined): string {
  return `series ${seriesId}: ${counted(rows, 'row')} in quarantine (tidemark.quarantine), such as: ${reason}`;
}

/** Why a gap is still one, in words. */
export function explain(gap: Gap): string {
  const why = reasons[gap.reason];
  const said = gap.message === null || gap.message === emptyMessage ? '' : `: ${gap.message}`;
  const again = gap.retryAtMs === null ? '' : ` (again at ${moment(gap.retryAtMs)})`;
  return `${why}${said}${again}`;
}

function asJson(gap: Gap) {
  return {
    seriesId: gap.seriesId,
    series: gap.series,
    start: new Date(gap.startMs).toISOString(),
    end: new Date(gap.endMs).toISOString(),
    reason: gap.reason,
    message: gap.message,
    retryAt: gap.retryAtMs === null ? null : new Date(gap.retryAtMs).toISOString(),
  };
}
