/** `tidemark gaps`: every gap as a range, with its reason. */

import { counted, formatDuration, formatTime, isoTime } from '../../model/format.ts';
import { explainGap } from '../../model/reasons.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { explainUnasked, readGapDivision } from '../../operations/source-gaps.ts';
import { againOf, outageJson, readHolds, readOutages, readUnanswered } from '../../operations/source-health.ts';
import { outageText, unansweredText } from '../../planning/source-outage.ts';
import { withContext } from '../../runtime/context.ts';
import { type Quarantined, readQuarantined } from '../../store/ledger/quarantine.ts';
import { type Gap, listGaps } from '../../store/series/gaps.ts';
import { readSourceTexts, sourcesInUse } from '../../store/series/sources.ts';
import type { JsonDocument } from '../output/documents.ts';
import { type Column, printText, table, terminalWidth, wrapped } from '../output/table.ts';

/** A table, or a paragraph a gap where a table is too wide. @param width of a line; null: unlimited. */
export function gapsText(gaps: readonly Gap[], explain: (gap: Gap) => string, width: number | null): string {
  const text = table(columns(explain), gaps);
  if (width === null || text.split('\n').every((line) => line.length <= width)) return text;
  return gaps
    .map((gap) => {
      const [id, series, from, to, length, why] = columns(explain).map(({ value }) => value(gap));
      return wrapped(`${series} (${id}), ${from} to ${to}, ${length}: ${why}`, width);
    })
    .join('\n');
}

const columns = (explain: (gap: Gap) => string): readonly Column<Gap>[] => [
  { title: 'id', value: (gap) => String(gap.seriesId), right: true },
  { title: 'series', value: (gap) => seriesName(gap.series) },
  { title: 'from', value: (gap) => formatTime(gap.startMs) },
  { title: 'to', value: (gap) => formatTime(gap.endMs) },
  { title: 'length', value: (gap) => formatDuration(gap.endMs - gap.startMs), right: true },
  { title: 'why', value: explain },
];

export async function run(options: { json?: true }): Promise<void> {
  await withContext({ command: 'gaps', needsDatabase: true, showsStored: true }, async (context) => {
    const nowMs = context.clock.now();
    const outages = await readOutages(context, nowMs);
    const { graceMs } = context.config.worker;
    const listed = await listGaps(context.database, { nowMs, graceMs, ledger: true });
    const gaps = explainUnasked(listed, (await readGapDivision(context, nowMs)).divide);
    const quarantined = await readQuarantined.on(context.database.pool, {});
    if (options.json) {
      const sourceOutages = outages.map((outage) => ({ source: outage.source, ...outageJson(outage) }));
      const sourceOutage = outageJson(outages[0] ?? null);
      const document: JsonDocument<'gaps'> = { sourceOutage, sourceOutages, gaps: gaps.map(asJson), quarantined };
      console.log(JSON.stringify(document, null, 2));
    } else {
      const nameOf = await readSourceTexts(context.database, nowMs);
      for (const outage of outages) printText(`${outageText(outage, nowMs, nameOf(outage.source))}\n`);
      const unanswered = await readUnanswered(context, await sourcesInUse(context.database), nowMs);
      for (const one of unanswered.values()) printText(`${unansweredText(one, nameOf(one.source))}\n`);
      const seriesIds = [...new Set(gaps.map(({ seriesId }) => seriesId))];
      const holdOf = await readHolds(context, seriesIds, { outages, nowMs });
      const explain = (gap: Gap) =>
        explainGap(gap, { nowMs, hold: holdOf(gap.seriesId), againOf: againOf(unanswered) });
      console.log(gaps.length === 0 ? 'no gaps' : gapsText(gaps, explain, terminalWidth()));
      for (const line of quarantined.map(quarantineLine)) printText(line);
    }
  });
}

/** Rejected rows are not gaps: another request returns them again. */
function quarantineLine({ seriesId, rows, reason }: Quarantined): string {
  return `series ${seriesId}: ${counted(rows, 'row')} in quarantine (tidemark.quarantine), such as: ${reason}`;
}

function asJson(gap: Gap): JsonDocument<'gaps'>['gaps'][number] {
  return {
    seriesId: gap.seriesId,
    series: seriesJson(gap.series),
    start: isoTime(gap.startMs),
    end: isoTime(gap.endMs),
    reason: gap.reason,
    cause: gap.cause,
    message: gap.message,
    source: gap.source,
    retryAt: isoTime(gap.retryAtMs),
  };
}
