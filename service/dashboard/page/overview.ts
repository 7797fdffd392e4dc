/** The overview: progress, freshness, load, polled lists, and every series with its band. */

import type { Summary } from '../shapes.ts';
import { commonActions, trackForm } from './actions.ts';
import { hrefOf } from './address.ts';
import { beginHere } from './begin-here.ts';
import { budget } from './budget.ts';
import { element, fill, section, setText, table } from './element.ts';
import { counted, formatAge, formatCount, formatDuration, formatPercent } from './format.ts';
import { backfillProgress, type Model, type Progress, type View } from './model.ts';
import { seriesList } from './series-list.ts';

const problemsHref = hrefOf({ view: 'problems' });
/** Each figure with the list behind it. */
const tileHrefs: ReadonlyArray<readonly [title: string, href: string]> = [
  ['Series', `${hrefOf({})}#series`],
  ['Behind', `${hrefOf({ filter: 'behind' })}#series`],
  ['Failing', `${problemsHref}#part-failing`],
  ['Quarantine', `${problemsHref}#part-quarantine`],
  ['Revised', `${problemsHref}#part-revisions`],
  ['Queue', `${hrefOf({})}#budget`],
  ['Source', `${problemsHref}#part-failed-requests`],
];

export function overview(main: HTMLElement, model: Model): View {
  const progress = element('progress', { max: 1, value: 0, 'aria-labelledby': 'progress-text' });
  const progressText = element('p', { id: 'progress-text' });
  const facts = new Map<string, HTMLElement>();
  const tiles = element('dl', { class: 'tiles' });
  for (const [title, href] of tileHrefs) {
    const value = element('dd', { 'data-fact': title });
    tiles.append(element('div', {}, element('dt', {}, element('a', { href }, title)), value));
    facts.set(title, value);
  }
  const requests = budget();
  const lists = polledLists(model);
  const series = seriesList(model);
  const waiting = element('p', { class: 'waiting' }, 'Loading.');
  const begin = beginHere();
  const content = element(
    'div',
    { hidden: true },
    begin,
    section('backfill', 'Backfill', progress, progressText),
    tiles,
    requests.section,
    series.section,
    section('actions', 'Actions', commonActions(), trackForm()),
    lists.section,
  );
  fill(main, element('h1', {}, 'Overview'), waiting, content);

  const update = () => {
    const { summary } = model;
    if (summary === null) {
      setText(waiting, model.connection === 'trouble' ? 'The store cannot be read.' : 'Loading.');
      return;
    }
    const lines = [...model.series.values()];
    waiting.hidden = true;
    content.hidden = false;
    const done = backfillProgress(lines);
    begin.hidden = lines.length > 0;
    progress.value = done.requests === 0 ? 1 : (done.requests - done.left) / done.requests;
    setText(progressText, progressWords(lines.length, done, summary));
    const tell = (title: string, text: string, isBad = false) => {
      const into = facts.get(title);
      if (into === undefined) return;
      setText(into, text);
      into.classList.toggle('bad', isBad);
    };
    const tally = (of: (line: (typeof lines)[number]) => boolean) => lines.filter(of).length;
    tell(
      'Series',
      `${formatCount(lines.length)}, ${formatCount(tally((line) => line.wantedMs > 0 && line.missingMs === 0))} complete`,
    );
    const furthestMs = Math.max(0, ...lines.map(({ behindMs }) => behindMs));
    tell(
      'Behind',
      furthestMs === 0
        ? 'none'
        : `${formatCount(tally(({ behindMs }) => behindMs > 0))}, at most ${formatDuration(furthestMs)}`,
      furthestMs > 0,
    );
    const failing = tally((line) => line.failedMs > 0 || line.blocked !== null);
    tell('Failing', failing === 0 ? 'none' : formatCount(failing), failing > 0);
    const { quarantined, queue } = summary;
    const inQuarantine = quarantined.rows > 0 || quarantined.hasOlder;
    const rows = `${counted(quarantined.rows, 'row')}${quarantined.hasOlder ? ' of the newest' : ''}`;
    tell('Quarantine', inQuarantine ? rows : 'empty', quarantined.rows > 0);
    const revised = lines.reduce((total, line) => total + line.revised, 0);
    tell('Revised', revised === 0 ? 'none' : counted(revised, 'value'));
    tell('Queue', queueWords(queue), queue === null || queue.workers === 0);
    tell(
      'Source',
      sourceWords(summary),
      summary.serviceMessage !== null || sourceTrouble(summary) !== undefined,
    );
    requests.update(summary);
    series.update();
    lists.update(summary.lists);
  };
  update();
  const ends = [model.onChange(update), series.end, requests.end, lists.end];
  return { title: 'Overview', end: () => ends.forEach((end) => void end()) };
}

function progressWords(
  series: number,
  { left, refused, requests: all }: Progress,
  { state: { etaMs }, queue }: Summary,
): string {
  if (series === 0) return 'No series is tracked.';
  const more =
    refused === 0
      ? ''
      : `; ${formatCount(refused)} more ${refused === 1 ? 'is' : 'are'} refused by the source`;
  if (left === 0) return refused === 0 ? 'Complete: nothing is left to fetch.' : `0 requests left${more}`;
  const done = `${formatPercent(all - left, all)}, ${counted(left, 'request')} left`;
  if (etaMs === null)
    return `${done}; ${queue?.workers === 0 ? 'no worker is running' : 'no recent requests'}${more}`;
  return `${done}, about ${formatDuration(Math.max(1000, etaMs))}${more}`;
}

/** Kinds of conditions that concern a source. */
const ofSources: readonly string[] = ['source_away', 'source_notice', 'source_refuses_key', 'banned'];

function sourceTrouble({ state: { headline, also } }: Summary) {
  return [headline, ...also].find(({ kind }) => ofSources.includes(kind));
}

function sourceWords(summary: Summary): string {
  const trouble = sourceTrouble(summary);
  if (trouble !== undefined) return trouble.text;
  return summary.serviceMessage === null ? 'normal' : `message: ${summary.serviceMessage.message}`;
}

function queueWords(queue: Summary['queue']): string {
  if (queue === null) return 'unavailable';
  const paused = queue.pausedMs > 2000 ? `, paused for ${formatDuration(queue.pausedMs)}` : '';
  return `${formatCount(queue.waiting)} waiting, ${formatCount(queue.active)} active, ${counted(queue.workers, 'worker')}${paused}`;
}

type Lists = Summary['lists'];

function polledLists(model: Model) {
  const content = element('div');
  let shown = '';
  let ages: (() => void)[] = [];

  /** Rebuilt only when the lists change, so that the focus and reading position stay. */
  function update(lists: Lists): void {
    const text = JSON.stringify(lists);
    if (text !== shown) make(lists);
    shown = text;
  }

  function make(lists: Lists): void {
    ages = [];
    if (lists.length === 0) {
      fill(content, element('p', {}, 'No list is polled.'));
      return;
    }
    const rows = lists.map(({ name, newestMs, everyMs, rows, problem }) => [
      name.replaceAll('_', ' '),
      everyMs === 0 ? '' : formatDuration(everyMs),
      newestMs === null ? 'never' : aging(newestMs),
      rows === null ? '' : formatCount(rows),
      problem ?? '',
    ]);
    fill(content, table('Polled lists', ['List', 'Every', 'Newest', 'Rows', 'Note'], rows));
  }

  function aging(sinceMs: number): HTMLElement {
    const into = element('span');
    const tell = () => setText(into, `${formatAge(model.nowMs() - sinceMs)} ago`);
    ages.push(tell);
    tell();
    return into;
  }

  // Ages grow without events.
  const clock = setInterval(() => {
    for (const tell of ages) tell();
  }, 1000);
  return { section: section('lists', 'Lists', content), update, end: () => clearInterval(clock) };
}
