/** Requests of the last hour by minute and the budget, as a uPlot chart and in words. */

import uPlot from 'uplot';
import { minuteMs } from '../../../contract/intervals.ts';
import type { RequestMinutes, Summary } from '../shapes.ts';
import { colour, onTheme } from './chart-style.ts';
import { element, fill, section, setText, table } from './element.ts';
import { counted, formatCount, formatTime } from './format.ts';

const height = 140;

export function budget() {
  const words = element('p');
  const pointed = element('p', { class: 'pointed', 'aria-hidden': 'true' });
  const plot = element('div', { class: 'plot', 'aria-hidden': 'true' });
  const byMinute = element('details', {}, element('summary', {}, 'Minute by minute'));
  const block = section('budget', 'Requests of the last hour', words, plot, pointed, byMinute);
  let latest: Summary | null = null;
  let chart: uPlot | null = null;

  function draw(): void {
    if (latest === null || plot.clientWidth === 0) return;
    const columns = columnsOf(latest);
    if (chart === null) chart = new uPlot(optionsFor(plot.clientWidth, point), columns, plot);
    else chart.setData(columns);
  }

  function point(place: number | null): void {
    if (latest === null || place === null) {
      setText(pointed, '');
      return;
    }
    const { startMs, lanes, failed } = latest.requests;
    const made = Object.entries(lanes).flatMap(([lane, counts]) =>
      (counts[place] ?? 0) > 0 ? [`${formatCount(counts[place] ?? 0)} ${lane}`] : [],
    );
    const lost = failed[place] ?? 0;
    setText(
      pointed,
      `${formatTime(startMs + place * minuteMs)}: ${made.join(', ') || 'none'}${lost > 0 ? `; ${formatCount(lost)} failed` : ''}`,
    );
  }

  function update(summary: Summary): void {
    latest = summary;
    setText(words, wordsOf(summary));
    if (byMinute.open) fillTable();
    draw();
  }

  function fillTable(): void {
    if (latest === null) return;
    const { requests } = latest;
    const rows = totalsOf(requests).flatMap((total, place) => {
      const time = formatTime(requests.startMs + place * minuteMs);
      return total === 0 ? [] : [[time, formatCount(total), formatCount(requests.failed[place] ?? 0)]];
    });
    const [summary] = byMinute.children;
    fill(
      byMinute,
      summary ?? null,
      table('Minutes with requests', ['Minute', 'Requests', 'Failed'], rows.reverse()),
    );
  }
  byMinute.addEventListener('toggle', fillTable);

  const resized = new ResizeObserver(() => {
    if (chart === null) draw();
    else chart.setSize({ width: plot.clientWidth, height });
  });
  resized.observe(plot);
  const endTheme = onTheme(() => {
    chart?.destroy();
    chart = null;
    draw();
  });
  return {
    section: block,
    update,
    end() {
      endTheme();
      resized.disconnect();
      chart?.destroy();
    },
  };
}

function totalsOf({ lanes, failed }: RequestMinutes): number[] {
  return failed.map((_, place) =>
    Object.values(lanes).reduce((total, counts) => total + (counts[place] ?? 0), 0),
  );
}

/** Times, requests, failed requests and the budget. */
function columnsOf({ requests, perMinute }: Summary): uPlot.AlignedData {
  const totals = totalsOf(requests);
  const times = totals.map((_, place) => (requests.startMs + place * minuteMs) / 1000);
  return [times, totals, [...requests.failed], totals.map(() => (perMinute === 0 ? null : perMinute))];
}

function wordsOf({ requests, perMinute }: Summary): string {
  const totals = totalsOf(requests);
  const all = totals.reduce((sum, total) => sum + total, 0);
  const lost = requests.failed.reduce((sum, total) => sum + total, 0);
  // The last complete minute: the current one has only begun.
  const newest = totals.at(-2) ?? 0;
  const of = perMinute === 0 ? ', no limit' : ` of ${formatCount(perMinute)} allowed`;
  return `${counted(all, 'request')}, at most ${formatCount(Math.max(0, ...totals))} in a minute, ${formatCount(newest)} in the last whole one${of}${lost > 0 ? `; ${formatCount(lost)} failed` : ''}.`;
}

function optionsFor(width: number, point: (place: number | null) => void): uPlot.Options {
  const axis = {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  };
  const paths = uPlot.paths.bars?.({ size: [0.8, 20] });
  const bars = { ...(paths === undefined ? {} : { paths }), points: { show: false } };
  return {
    ...{ width, height, legend: { show: false } },
    cursor: { y: false, drag: { x: false, y: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    hooks: { setCursor: [({ cursor }) => point(cursor.idx ?? null)] },
    scales: { y: { range: (_chart, _least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      { ...axis, values: '{HH}:{mm}' },
      { ...axis, size: 48 },
    ],
    series: [
      {},
      { label: 'requests', fill: colour('--covered'), ...bars },
      { label: 'failed', fill: colour('--failed'), ...bars },
      { label: 'limit', stroke: colour('--text'), width: 1, dash: [4, 4], points: { show: false } },
    ],
  };
}
