/** The view of everything: how complete, how fresh, how busy, and every series with its band. */

import { backfillProgress, type Progress } from '../progress.ts';
import { budget } from './budget.ts';
import { element, fill, write } from './element.ts';
import type { Shown } from './main.ts';
import type { Model } from './model.ts';
import { polledLists } from './polled-lists.ts';
import { seriesList } from './series-list.ts';
import { count, counted, duration, percent } from './wording.ts';

export function overview(main: HTMLElement, model: Model): Shown {
  const progress = element('progress', { max: 1, value: 0, 'aria-labelledby': 'progress-text' });
  const progressText = element('p', { id: 'progress-text' });
  const facts = new Map<string, HTMLElement>();
  const tiles = element('dl', { class: 'tiles' });
  for (const title of ['Series', 'Behind', 'Failing', 'Quarantine', 'Revised', 'Queue', 'Source'])
    facts.set(title, tile(tiles, title));
  const requests = budget();
  const lists = polledLists(model);
  const series = seriesList(model);
  const waiting = element('p', { class: 'waiting' }, 'Reading what is stored.');
  const content = element(
    'div',
    { hidden: true },
    element(
      'section',
      { 'aria-labelledby': 'backfill' },
      element('h2', { id: 'backfill' }, 'Backfill'),
      progress,
      progressText,
    ),
    tiles,
    requests.section,
    series.section,
    lists.section,
  );
  fill(main, element('h1', {}, 'Overview'), waiting, content);

  const update = () => {
    const { summary } = model;
    if (summary === null) {
      write(
        waiting,
        model.connection === 'trouble' ? 'The store cannot be read.' : 'Reading what is stored.',
      );
      return;
    }
    const lines = [...model.series.values()];
    waiting.hidden = true;
    content.hidden = false;
    const done = backfillProgress(lines, summary, model.nowMs());
    progress.value = done.requests === 0 ? 1 : (done.requests - done.left) / done.requests;
    write(progressText, progressWords(lines.length, done, summary.queue?.workers === 0));
    const tell = (title: string, text: string, isBad = false) => {
      const into = facts.get(title);
      if (into === undefined) return;
      write(into, text);
      into.classList.toggle('bad', isBad);
    };
    const tally = (of: (line: (typeof lines)[number]) => boolean) => lines.filter(of).length;
    tell(
      'Series',
      `${count(lines.length)}, ${count(tally((line) => line.wantedMs > 0 && line.missingMs === 0))} complete`,
    );
    const furthestMs = Math.max(0, ...lines.map(({ behindMs }) => behindMs));
    tell(
      'Behind',
      furthestMs === 0
        ? 'none'
        : `${count(tally(({ behindMs }) => behindMs > 0))}, at most ${duration(furthestMs)}`,
      furthestMs > 0,
    );
    const failing = tally((line) => line.failedMs > 0 || line.blocked !== null);
    tell('Failing', failing === 0 ? 'none' : count(failing), failing > 0);
    const { quarantined, queue } = summary;
    const inQuarantine = quarantined.rows > 0 || quarantined.hasOlder;
    const rows = `${counted(quarantined.rows, 'row')}${quarantined.hasOlder ? ' of the newest' : ''}`;
    tell('Quarantine', inQuarantine ? rows : 'empty', quarantined.rows > 0);
    const revised = lines.reduce((total, line) => total + line.revised, 0);
    tell('Revised', revised === 0 ? 'none' : counted(revised, 'value'));
    tell('Queue', queueWords(queue), queue === null || queue.workers === 0);
    tell(
      'Source',
      summary.notice === null ? 'as usual' : `says: ${summary.notice.message}`,
      summary.notice !== null,
    );
    requests.update(summary);
    series.update();
    lists.update(summary.lists);
  };
  update();
  const ends = [model.onChange(update), series.end, requests.end, lists.end];
  return { title: 'Overview', end: () => ends.forEach((end) => void end()) };
}

function tile(tiles: HTMLElement, title: string): HTMLElement {
  const value = element('dd', { 'data-fact': title });
  tiles.append(element('div', {}, element('dt', {}, title), value));
  return value;
}

function progressWords(
  series: number,
  { left, refused, requests: all, perMinute, expectedMs }: Progress,
  hasNoWorker: boolean,
): string {
  if (series === 0) return 'No series is tracked: tidemark track candles --help says how to begin.';
  const more =
    refused === 0 ? '' : `; ${count(refused)} more ${refused === 1 ? 'is' : 'are'} refused by the source`;
  if (left === 0) return refused === 0 ? 'Complete: nothing is left to fetch.' : `0 requests left${more}`;
  const done = `${percent(all - left, all)}, ${counted(left, 'request')} left`;
  if (expectedMs === null)
    return `${done}; ${hasNoWorker ? 'no worker is there to make them' : 'none was made of late'}${more}`;
  return `${done}, about ${duration(Math.max(1000, expectedMs))} at ${count(Math.round(perMinute))} a minute${more}`;
}

function queueWords(
  queue: { waiting: number; active: number; workers: number; pausedMs: number } | null,
): string {
  if (queue === null) return 'cannot be asked';
  const paused = queue.pausedMs > 2000 ? `, paused for ${duration(queue.pausedMs)}` : '';
  return `${count(queue.waiting)} waiting, ${count(queue.active)} under way, ${counted(queue.workers, 'worker')}${paused}`;
}
