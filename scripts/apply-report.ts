/** What `apply` says: what changes, what is left alone, what is worth knowing, and what it costs. */

import { listName } from '../contract/lists.ts';
import { type SeriesKey, seriesName } from '../contract/series.ts';
import type { SeriesChange, Span } from '../planning/watch-changes.ts';
import type { RereadOverride } from '../store/watch-list/settings.ts';
import type { ListChange } from '../watch/list-changes.ts';
import { isNothing, type RetentionChange, type WatchPlan } from '../watch/plan-watch-list.ts';
import { problemText } from '../watch/problem.ts';
import { datasetNames } from './retention.ts';
import { count, counted, duration, moment } from './wording.ts';

/** Lines of each kind that people read; `--json` has all. */
const mostShown = 20;

const kinds = ['added', 'widened', 'narrowed', 'moved', 'stopped'] as const;

export function planText(plan: WatchPlan, file: string): string {
  const lines = kinds.flatMap((kind) => {
    const of = plan.series.filter((change) => change.kind === kind);
    return shortened(of.map(seriesLine), `more series ${kind}`);
  });
  lines.push(...shortened(plan.lists.map(listLine), 'more lists'));
  for (const change of plan.retention) lines.push(retentionLine(change));
  if (plan.reread !== null) lines.push(rereadLine(plan.reread.before, plan.reread.after));
  lines.push(...leftLines(plan), ...plan.notes.map((note) => `note: ${problemText(file, note)}`));
  for (const { age, cutMs, series } of plan.cut)
    lines.push(
      `note: the retention of ${age} keeps nothing before ${moment(cutMs)}: from there on, not from where the file says, ${named(series.map(seriesName))}`,
    );
  if (plan.notKept.length > 0)
    lines.push(
      `note: wanted only before what retention keeps, so left out: ${named(plan.notKept.map(seriesName))}`,
    );
  return [summary(plan, file), ...lines].join('\n');
}

function summary(plan: WatchPlan, file: string): string {
  if (isNothing(plan)) return `nothing to do: all is tracked as ${file} says`;
  const numbers = kinds.flatMap((kind) => {
    const many = plan.series.filter((change) => change.kind === kind).length;
    return many === 0 ? [] : [`${count(many)} series ${kind}`];
  });
  const others = [
    plan.lists.length === 0 ? [] : [`${counted(plan.lists.length, 'list')} changed`],
    plan.retention.length === 0 && plan.reread === null ? [] : ['settings changed'],
  ].flat();
  return `${file}: ${[...numbers, ...others].join(', ')}`;
}

function seriesLine({ kind, series, before, after }: SeriesChange): string {
  const name = seriesName(series);
  if (after === null) return `${kind}: ${name}; what is stored stays`;
  const was = before === null ? '' : `, was ${spanText(before)}`;
  return `${kind}: ${name} ${spanText(after)}${was}`;
}

function spanText({ startMs, endMs }: Span): string {
  return `from ${moment(startMs)} to ${endMs === null ? 'now on' : moment(endMs)}`;
}

function listLine({ kind, list, beforeMs, afterMs }: ListChange): string {
  if (afterMs === null) return `${kind}: ${listName(list)}; what is stored stays`;
  const was = beforeMs === null ? '' : `, was every ${duration(beforeMs)}`;
  return `${kind}: ${listName(list)} every ${duration(afterMs)}${was}`;
}

function retentionLine({ dataset, before, after, dropsBeforeMs }: RetentionChange): string {
  const kept = (age: string | null) => (age === null ? 'for good' : `for ${age}`);
  const drops =
    dropsBeforeMs === null
      ? ''
      : `; drops every point from before ${moment(dropsBeforeMs)}, for good, when the scheduler next applies it`;
  return `retention: ${datasetNames[dataset]} kept ${kept(after)}, was ${kept(before)}${drops}`;
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

function leftLines({ left }: WatchPlan): string[] {
  const series = left.series.map((one) => seriesName(one.series));
  const lists = left.lists.map(({ list }) => listName(list));
  if (series.length + lists.length === 0) return [];
  const parts = [
    series.length === 0 ? [] : [`${count(series.length)} series (${named(series)})`],
    lists.length === 0 ? [] : [`${counted(lists.length, 'list')} (${named(lists)})`],
  ].flat();
  return [`left alone, as the file does not name them (--prune stops them): ${parts.join(' and ')}`];
}

function named(names: readonly string[]): string {
  const few = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${few} and ${count(names.length - 5)} more` : few;
}

function shortened(lines: readonly string[], more: string): string[] {
  if (lines.length <= mostShown) return [...lines];
  return [
    ...lines.slice(0, mostShown),
    `... and ${count(lines.length - mostShown)} ${more} (--json has all)`,
  ];
}

export function planJson(plan: WatchPlan) {
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1000);
  return {
    series: plan.series
      .filter(({ kind }) => kind !== 'kept')
      .map(({ kind, series, seriesId, before, after }) => ({
        ...{ change: kind, seriesId, ...series, before: spanJson(before), after: spanJson(after) },
      })),
    lists: plan.lists.map(({ kind, list, beforeMs, afterMs }) => ({
      ...{ change: kind, list: list.dataset, asset: list.asset },
      ...{ beforeSeconds: seconds(beforeMs), afterSeconds: seconds(afterMs) },
    })),
    retention: plan.retention.map(({ dataset, before, after, dropsBeforeMs }) => ({
      ...{ dataset: datasetNames[dataset], before, after },
      dropsBefore: dropsBeforeMs === null ? null : new Date(dropsBeforeMs).toISOString(),
    })),
    readAgain: plan.reread,
    left: {
      series: plan.left.series.map(({ series, seriesId }): SeriesKey & { seriesId: number } => ({
        seriesId,
        ...series,
      })),
      lists: plan.left.lists.map(({ list }) => ({ list: list.dataset, asset: list.asset })),
    },
    notes: plan.notes,
    notKept: plan.notKept,
    cut: plan.cut.map(({ dataset, age, cutMs, series }) => ({
      ...{ dataset: datasetNames[dataset], age, nothingBefore: new Date(cutMs).toISOString(), series },
    })),
  };
}

function spanJson(span: Span | null) {
  if (span === null) return null;
  const iso = (timeMs: number | null) => (timeMs === null ? null : new Date(timeMs).toISOString());
  return { from: iso(span.startMs), to: iso(span.endMs) };
}
