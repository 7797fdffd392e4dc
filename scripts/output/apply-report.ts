/** The report of `apply`: changes, untouched series, notes and cost. */

import { counted, formatCount, formatDuration, formatSpan, formatTime, isoTime } from '../../model/format.ts';
import { listName } from '../../model/lists/index.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { storedWords } from '../../model/stored-datasets.ts';
import { changeKinds, type SeriesChange, type Span } from '../../planning/watch-list-changes.ts';
import type { RereadOverride } from '../../store/settings/settings.ts';
import type { ListChange } from '../../watch-list/list-changes.ts';
import { isNothing, type RetentionChange, type WatchListPlan } from '../../watch-list/plan.ts';
import { problemText } from '../../watch-list/watch-list.ts';

/** Printed lines per kind; `--json` has all. */
const maxShown = 20;

export function planText(plan: WatchListPlan, file: string): string {
  const lines = changeKinds.flatMap((kind) => {
    const of = plan.series.filter((change) => change.kind === kind);
    return shortened(of.map(seriesLine), `more series ${kind}`);
  });
  lines.push(...shortened(plan.sources.map(sourceLine), 'more sources'));
  lines.push(...aliasLines(plan));
  lines.push(...shortened(plan.lists.map(listLine), 'more lists'));
  for (const change of plan.retention) lines.push(retentionLine(change));
  if (plan.reread !== null) lines.push(rereadLine(plan.reread.before, plan.reread.after));
  lines.push(...leftLines(plan), ...notesOf(plan).map((note) => `note: ${problemText(file, note)}`));
  for (const { age, cutMs, series } of plan.cut)
    lines.push(
      `note: the retention of ${age} keeps nothing before ${formatTime(cutMs)}, which shortens ` +
        `${named(series.map(seriesName))}`,
    );
  if (plan.notKept.length > 0)
    lines.push(
      'note: left out, because the range ends before the retention, or the market expired before: ' +
        named(plan.notKept.map(seriesName)),
    );
  return [summary(plan, file), ...lines].join('\n');
}

const notesOf = ({ notes, waiting }: WatchListPlan) => [...notes, ...waiting];

function summary(plan: WatchListPlan, file: string): string {
  if (isNothing(plan)) return `nothing to do: the database matches ${file}`;
  const numbers = changeKinds.flatMap((kind) => {
    const many = plan.series.filter((change) => change.kind === kind).length;
    return many === 0 ? [] : [`${formatCount(many)} series ${kind}`];
  });
  const others = [
    plan.sources.length === 0 ? [] : [`sources of ${formatCount(plan.sources.length)} series`],
    plan.lists.length === 0 ? [] : [`${counted(plan.lists.length, 'list')} changed`],
    plan.aliases === null ? [] : ['aliases changed'],
    plan.retention.length === 0 && plan.reread === null ? [] : ['settings changed'],
  ].flat();
  return `${file}: ${[...numbers, ...others].join(', ')}`;
}

function seriesLine({ kind, series, before, after }: SeriesChange): string {
  const name = seriesName(series);
  if (after === null) return `${kind}: ${name}; stored data stays`;
  const was = before === null ? '' : `, was ${formatSpan(before)}`;
  return `${kind}: ${name} ${formatSpan(after)}${was}`;
}

function sourceLine({ series, sources }: WatchListPlan['sources'][number]): string {
  // A Market Data Service is asked by the names of the series.
  const names = sources.map(({ source, symbol }) => (symbol === '' ? source : `${source} (${symbol})`));
  return `source: ${seriesName(series)} from ${names.join(', then ')}`;
}

function aliasLines({ aliases }: WatchListPlan): string[] {
  if (aliases === null) return [];
  const names = aliases.map(({ source, code, asset }) => `${source === '' ? '' : `${source} `}${code} ${asset}`);
  return [`aliases: ${names.length === 0 ? 'none' : named(names)}`];
}

function listLine({ kind, list, beforeMs, afterMs }: ListChange): string {
  if (afterMs === null) return `${kind}: ${listName(list)}; stored data stays`;
  const was = beforeMs === null ? '' : `, was every ${formatDuration(beforeMs)}`;
  return `${kind}: ${listName(list)} every ${formatDuration(afterMs)}${was}`;
}

function retentionLine({ dataset, before, after, dropsBeforeMs }: RetentionChange): string {
  const kept = (age: string | null) => age ?? 'forever';
  const drops =
    dropsBeforeMs === null
      ? ''
      : `; drops every point from before ${formatTime(dropsBeforeMs)} irreversibly when the scheduler next applies it`;
  return `retention: ${storedWords[dataset]} ${kept(after)}, was ${kept(before)}${drops}`;
}

function rereadLine(before: RereadOverride, after: RereadOverride): string {
  const text = ({ periods, days, hours }: RereadOverride) => {
    const parts = [
      periods === undefined ? [] : [`${counted(periods, 'period')} with each refresh`],
      days === undefined ? [] : [`the last ${counted(days, 'day')}`],
      hours === undefined ? [] : [`every ${counted(hours, 'hour')}`],
    ].flat();
    return parts.length === 0 ? 'as configured' : parts.join(', ');
  };
  return `read again: ${text(after)}, was ${text(before)}`;
}

function leftLines({ left }: WatchListPlan): string[] {
  const series = left.series.map((one) => seriesName(one.series));
  const lists = left.lists.map(({ list }) => listName(list));
  if (series.length + lists.length === 0) return [];
  const parts = [
    series.length === 0 ? [] : [`${formatCount(series.length)} series (${named(series)})`],
    lists.length === 0 ? [] : [`${counted(lists.length, 'list')} (${named(lists)})`],
  ].flat();
  return [`left alone, not in the file (--prune stops them): ${parts.join(' and ')}`];
}

function named(names: readonly string[]): string {
  const few = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${few} and ${formatCount(names.length - 5)} more` : few;
}

function shortened(lines: readonly string[], more: string): string[] {
  if (lines.length <= maxShown) return [...lines];
  return [...lines.slice(0, maxShown), `... and ${formatCount(lines.length - maxShown)} ${more} (--json has all)`];
}

export function planJson(plan: WatchListPlan) {
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1000);
  return {
    series: plan.series.flatMap(({ kind, series, seriesId, before, after }) =>
      kind === 'kept'
        ? []
        : [{ change: kind, seriesId, ...seriesJson(series), before: spanJson(before), after: spanJson(after) }],
    ),
    sources: plan.sources.map(({ series, sources }) => ({
      ...seriesJson(series),
      sources: sources.map(({ source, symbol }) => ({ source, symbol })),
    })),
    aliases: plan.aliases,
    lists: plan.lists.map(({ kind, list, beforeMs, afterMs }) => ({
      change: kind,
      list: list.dataset,
      asset: list.asset,
      beforeSeconds: seconds(beforeMs),
      afterSeconds: seconds(afterMs),
    })),
    retention: plan.retention.map(({ dataset, before, after, dropsBeforeMs }) => ({
      dataset: storedWords[dataset],
      before,
      after,
      dropsBefore: isoTime(dropsBeforeMs),
    })),
    readAgain: plan.reread,
    left: {
      series: plan.left.series.map(({ series, seriesId }) => ({ seriesId, ...seriesJson(series) })),
      lists: plan.left.lists.map(({ list }) => ({ list: list.dataset, asset: list.asset })),
    },
    notes: notesOf(plan),
    notKept: plan.notKept.map(seriesJson),
    cut: plan.cut.map(({ dataset, age, cutMs, series }) => ({
      dataset: storedWords[dataset],
      age,
      nothingBefore: isoTime(cutMs),
      series: series.map(seriesJson),
    })),
  };
}

function spanJson(span: Span | null) {
  return span === null ? null : { from: isoTime(span.startMs), to: isoTime(span.endMs) };
}
