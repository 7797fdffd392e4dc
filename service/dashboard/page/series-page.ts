/** The page of one series: its chart and its details. */

import type { SeriesDetail } from '../shapes.ts';
import { seriesActions } from './actions.ts';
import { bandColumns, describeBand, drawBand, emptyBand, legend } from './band.ts';
import { chartSection } from './chart-section.ts';
import { element, fill, listSection, setText } from './element.ts';
import {
  counted,
  describeCoverage,
  formatCount,
  formatDuration,
  formatSecond,
  formatTime,
} from './format.ts';
import type { Model, View } from './model.ts';
import { fetchBands, fetchDetail, RequestError } from './server.ts';

const reasons: Readonly<Record<string, string>> = {
  not_asked: 'awaits a request',
  awaits_second_answer: 'empty response, awaits confirmation',
  failed: 'failed',
  stale: 'stale response',
  blocked: 'refused by the source',
};

export function seriesPage(main: HTMLElement, model: Model, id: number): View {
  const name = model.series.get(id)?.name ?? `Series ${id}`;
  const heading = element('h1', {}, name);
  const facts = element('p', { class: 'facts' });
  const band = emptyBand();
  const chart = element('div');
  const rest = element('div', {}, element('p', { class: 'waiting' }, 'Loading.'));
  fill(main, heading, facts, band, legend(), chart, rest);

  let ended = false;
  let version = '';
  let shownChart: ReturnType<typeof chartSection> | null = null;

  function showFacts(): void {
    const line = model.series.get(id);
    if (line === undefined) return;
    const words = [
      describeCoverage(line, model.nowMs()),
      line.gaps === 0
        ? line.wantedMs > 0
          ? 'no gap'
          : ''
        : `${counted(line.gaps, 'gap')} of ${formatDuration(line.missingMs)}`,
      counted(line.points, 'point'),
      line.revised > 0 ? `${formatCount(line.revised)} revised` : '',
      line.blocked === null ? '' : `refused by the source: ${line.blocked}`,
    ];
    setText(facts, words.filter((word) => word !== '').join(' · '));
    band.setAttribute('aria-label', describeBand(line, model.nowMs()));
  }

  let isLoading = false;
  let again = false;
  /** One request at a time: commits may be faster than responses, and only the last state matters. */
  async function load(): Promise<void> {
    again = isLoading;
    if (isLoading) return;
    isLoading = true;
    try {
      const [detail, [drawing]] = await Promise.all([fetchDetail(id), fetchBands([id], bandColumns, null)]);
      if (ended) return;
      setText(heading, detail.name);
      document.title = `${detail.name} · Tidemark`;
      if (drawing !== undefined) drawBand(band, drawing);
      if (shownChart === null) {
        shownChart = chartSection(detail, () => model.nowMs());
        fill(chart, shownChart.section, seriesActions(id, detail.name));
        shownChart.begin();
      } else {
        shownChart.refresh(detail);
      }
      fill(rest, ...parts(detail));
    } catch (error) {
      if (ended) return;
      const unknown = error instanceof RequestError && error.status === 404;
      const message = unknown
        ? `There is no series with the id ${id}.`
        : `Cannot load: ${String((error as Error).message)}.`;
      fill(rest, element('p', { class: 'bad', role: 'alert' }, message));
    } finally {
      isLoading = false;
    }
    if (again && !ended) await load();
  }

  const update = () => {
    showFacts();
    // Before the first event there is no version to compare, and everything would be requested twice.
    if (model.summary === null && !model.isAway) return;
    const line = model.series.get(id);
    const now = `${line?.version} ${line?.failedMs}`;
    if (now === version) {
      shownChart?.follow();
      return;
    }
    version = now;
    void load();
  };
  update();
  // Forces the following update to reload.
  const endBack = model.onBack(() => {
    version = '';
  });
  const endListening = model.onChange(update);
  return {
    title: name,
    end() {
      ended = true;
      endBack();
      endListening();
      shownChart?.end();
    },
  };
}

function parts(detail: SeriesDetail): HTMLElement[] {
  const { gaps, gapsInAll, fetches, revisions, rejections, fromMs, toMs, untrackedMs } = detail;
  const tracked =
    untrackedMs === null
      ? `Tracked from ${formatTime(fromMs)} ${toMs === null ? 'on' : `to ${formatTime(toMs)}`}.`
      : `Not asked for any more since ${formatSecond(untrackedMs)}. What is stored stays.`;
  return [
    element('p', {}, tracked),
    listSection(
      'Gaps',
      'None.',
      gapsInAll > gaps.length
        ? `The newest ${formatCount(gaps.length)} of ${formatCount(gapsInAll)}`
        : `${counted(gapsInAll, 'gap')}, cut where the reason changes`,
      ['From', 'To', 'Length', 'Why'],
      gaps.map((gap) => [
        formatTime(gap.startMs),
        formatTime(gap.endMs),
        formatDuration(gap.endMs - gap.startMs),
        `${reasons[gap.reason] ?? gap.reason}${gap.message === null ? '' : `: ${gap.message}`}`,
      ]),
    ),
    listSection(
      'Last requests',
      'None is recorded.',
      'Newest first',
      ['At', 'From', 'To', 'For', 'Verdict', 'New', 'Changed', 'Took'],
      fetches.map((one) => [
        formatSecond(one.timeMs),
        one.range === null ? '' : formatTime(one.range.startMs),
        one.range === null ? '' : formatTime(one.range.endMs),
        one.lane,
        one.error === null ? one.verdict : `${one.verdict}: ${one.error}`,
        formatCount(one.fresh),
        formatCount(one.changed),
        `${formatCount(one.durationMs)} ms`,
      ]),
    ),
    listSection(
      'Revisions',
      'The source revised no stored value.',
      'Old values of revisions, newest first',
      ['Of', 'Until', 'Before'],
      revisions.map((one) => [
        formatTime(one.timeMs),
        formatSecond(one.seenAtMs),
        Object.entries(one.before)
          .map(([column, value]) => `${column} ${value}`)
          .join(', '),
      ]),
    ),
    listSection(
      'Quarantine',
      'Empty.',
      'Rejected rows, newest first',
      ['Seen', 'Reason', 'Row'],
      rejections.map((one) => [formatSecond(one.seenAtMs), one.reason, element('code', {}, one.raw)]),
    ),
  ];
}
