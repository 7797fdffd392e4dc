/** Backfills as text, and as JSON. */

import { counted, formatCount, formatSpan, formatTime, isoTime, nonEmpty } from '../../model/format.ts';
import type { Backfill } from '../../operations/backfill/list.ts';
import { madeText } from '../../planning/progress.ts';
import type { JsonDocument } from './documents.ts';
import { type Column, table } from './table.ts';

/** @param width of a line; null: unlimited. */
export function backfillsText(found: readonly Backfill[], width: number | null): string {
  return found.length === 0 ? 'nothing was asked for yet' : table(columns, found, width);
}

const columns: ReadonlyArray<Column<Backfill>> = [
  { title: 'id', value: ({ id }) => String(id), right: true },
  { title: 'kind', value: ({ kind }) => kind.replace('_', ' ') },
  { title: 'state', value: ({ state }) => state },
  { title: 'series', value: seriesText, shorten: 'middle' },
  { title: 'range', value: rangeText, omit: 2 },
  { title: 'asked', value: ({ askedMs }) => formatTime(askedMs), omit: 3 },
  { title: 'by', value: ({ by }) => by, shorten: 'middle', omit: 1 },
  { title: 'progress or result', value: ({ progress, result }) => progress ?? result ?? '', shorten: 'end' },
];

/** None is recorded without series. */
function seriesText({ names: [first = 'deleted'], series }: Backfill): string {
  return series > 1 ? `${first} and ${formatCount(series - 1)} more` : first;
}

function rangeText({ fromMs, toMs }: Backfill): string {
  return fromMs === null ? '' : formatSpan({ startMs: fromMs, endMs: toMs });
}

/** Series, and kinds of failures, before the rest is left out. */
const shown = 10;

export function backfillText(one: Backfill): string {
  const { id, kind, state, askedMs, by, progress, result, endedMs, names, answers } = one;
  const more = (count: number) => (count > shown ? [`  and ${formatCount(count - shown)} more`] : []);
  return [
    `${kind.replace('_', ' ')} ${id}: ${state}`,
    nonEmpty([`asked ${formatTime(askedMs)} by ${by}`, `${formatCount(one.series)} series`, rangeText(one)]).join(', '),
    ...(progress === null ? [] : [progress]),
    ...(result === null ? [] : [`${endedMs === null ? '' : `ended ${formatTime(endedMs)}: `}${result}`]),
    ...names.slice(0, shown).map((name) => `  ${name}`),
    ...more(names.length),
    ...(answers === null
      ? []
      : [
          madeText(answers),
          ...answers.failures
            .slice(0, shown)
            .map(({ kind, requests, message }) => `  ${counted(requests, 'request')} failed, ${kind}: ${message}`),
        ]),
  ].join('\n');
}

export function backfillJson({
  askedMs,
  fromMs,
  toMs,
  endedMs,
  etaMs,
  names,
  ...one
}: Backfill): JsonDocument<'backfills'>[number] {
  return {
    ...one,
    names,
    asked: isoTime(askedMs),
    from: isoTime(fromMs),
    to: isoTime(toMs),
    etaSeconds: etaMs === null ? null : etaMs / 1000,
    ended: isoTime(endedMs),
  };
}
