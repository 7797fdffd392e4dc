/** The page of one series: its chart, and everything that is known of it. */

import type { SeriesDetail } from '../shapes.ts';
import { askBands, askDetail, Refused } from './ask.ts';
import { bandColumns, bandText, drawBand, emptyBand, legend } from './band.ts';
import { chartSection } from './chart-section.ts';
import { element, fill, table, write } from './element.ts';
import type { Shown } from './main.ts';
import type { Model } from './model.ts';
import { part, second } from './problems.ts';
import { count, counted, coverage, duration, moment } from './wording.ts';

const reasons: Readonly<Record<string, string>> = {
  not_asked: 'not asked for yet',
  awaits_second_answer: 'answered empty, awaits a second answer',
  failed: 'failed',
  stale: 'the answer was older than the window',
  blocked: 'refused by the source',
};

export function seriesPage(main: HTMLElement, model: Model, id: number): Shown {
  const name = model.series.get(id)?.name ?? `Series ${id}`;
  const heading = element('h1', {}, name);
  const facts = element('p', { class: 'facts' });
  const band = emptyBand();
  const chart = element('div');
  const rest = element('div', {}, element('p', { class: 'waiting' }, 'Reading what is stored.'));
  fill(main, heading, facts, band, legend(), chart, rest);

  let ended = false;
  let version = '';
  let shownChart: ReturnType<typeof chartSection> | null = null;

  function showFacts(): void {
    const line = model.series.get(id);
    if (line === undefined) return;
    const words = [
      coverage(line, model.nowMs()),
      line.gaps === 0
        ? line.wantedMs > 0
          ? 'no gap'
          : ''
        : `${counted(line.gaps, 'gap')} of ${duration(line.missingMs)}`,
      counted(line.points, 'point'),
      line.revised > 0 ? `${count(line.revised)} revised` : '',
      line.blocked === null ? '' : `refused by the source: ${line.blocked}`,
    ];
    write(facts, words.filter((word) => word !== '').join(' · '));
    band.setAttribute('aria-label', bandText(line, model.nowMs()));
  }

  let isLoading = false;
  let again = false;
  /** One at a time: commits may come faster than answers, and the last one counts. */
  async function load(): Promise<void> {
    again = isLoading;
    if (isLoading) return;
    isLoading = true;
    try {
      const [detail, [drawing]] = await Promise.all([askDetail(id), askBands([id], bandColumns, null)]);
      if (ended) return;
      write(heading, detail.name);
      document.title = `${detail.name} · Tidemark`;
      if (drawing !== undefined) drawBand(band, drawing);
      if (shownChart === null) {
        shownChart = chartSection(detail, () => model.nowMs());
        fill(chart, shownChart.section);
        shownChart.begin();
      } else {
        shownChart.refresh(detail);
      }
      fill(rest, ...parts(detail));
    } catch (error) {
      if (ended) return;
      const unknown = error instanceof Refused && error.status === 404;
      const message = unknown
        ? `There is no series with the id ${id}.`
        : `This could not be read: ${String((error as Error).message)}.`;
      fill(rest, element('p', { class: 'bad', role: 'alert' }, message));
    } finally {
      isLoading = false;
    }
    if (again && !ended) await load();
  }

  const update = () => {
    showFacts();
    // Before the stream has said anything there is no version to compare: all would be asked for twice.
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
  // What could not be read meanwhile is read by the update that follows.
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
      ? `Tracked from ${moment(fromMs)} ${toMs === null ? 'on' : `to ${moment(toMs)}`}.`
      : `Not asked for any more since ${moment(second(untrackedMs))}. What is stored stays.`;
  return [
    element('p', {}, tracked),
    part(
      'Gaps',
      gaps.length === 0 ? 'None.' : null,
      table(
        gapsInAll > gaps.length
          ? `The newest ${count(gaps.length)} of ${count(gapsInAll)}`
          : `${counted(gapsInAll, 'gap')}, cut where the reason changes`,
        ['From', 'To', 'Length', 'Why'],
        gaps.map((gap) => [
          moment(gap.startMs),
          moment(gap.endMs),
          duration(gap.endMs - gap.startMs),
          `${reasons[gap.reason] ?? gap.reason}${gap.message === null ? '' : `: ${gap.message}`}`,
        ]),
      ),
    ),
    part(
      'Last requests',
      fetches.length === 0 ? 'None is recorded.' : null,
      table(
        'Newest first',
        ['At', 'From', 'To', 'For', 'Verdict', 'New', 'Changed', 'Took'],
        fetches.map((one) => [
          moment(second(one.timeMs)),
          one.startMs === null ? '' : moment(one.startMs),
          one.endMs === null ? '' : moment(one.endMs),
          one.lane,
          one.error === null ? one.verdict : `${one.verdict}: ${one.error}`,
          count(one.fresh),
          count(one.changed),
          `${count(one.durationMs)} ms`,
        ]),
      ),
    ),
    part(
      'Revisions',
      revisions.length === 0 ? 'The source changed nothing that is stored.' : null,
      table(
        'Values as they were before the source changed them, newest first',
        ['Of', 'Until', 'Before'],
        revisions.map((one) => [
          moment(one.timeMs),
          moment(second(one.seenAtMs)),
          Object.entries(one.before)
            .map(([column, value]) => `${column} ${value}`)
            .join(', '),
        ]),
      ),
    ),
    part(
      'Quarantine',
      rejections.length === 0 ? 'Empty.' : null,
      table(
        'Rows that could not be used, newest first',
        ['Seen', 'Reason', 'Row'],
        rejections.map((one) => [moment(second(one.seenAtMs)), one.reason, element('code', {}, one.raw)]),
      ),
    ),
  ];
}
