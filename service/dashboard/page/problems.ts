/** The problems view. It loads when it opens, on request, and when a lost store is back. */

import type { Problems } from '../shapes.ts';
import { seriesLink } from './address.ts';
import { type Child, element, fill, table } from './element.ts';
import { formatCount, formatTime } from './format.ts';
import type { Model, View } from './model.ts';
import { fetchProblems } from './server.ts';

export function problems(main: HTMLElement, model: Model): View {
  const content = element('div', {}, element('p', {}, 'Loading.'));
  const again = element('button', { type: 'button' }, 'Read again');
  fill(main, element('h1', {}, 'Problems'), again, content);
  let ended = false;
  let asked = 0;
  async function load(): Promise<void> {
    asked += 1;
    const mine = asked;
    // Only the last request counts, in whatever order the responses arrive.
    const isWanted = () => !ended && mine === asked;
    try {
      const found = await fetchProblems();
      if (isWanted()) fill(content, ...sections(found));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (isWanted())
        fill(content, element('p', { class: 'bad', role: 'alert' }, `Cannot load: ${message}.`));
    }
  }
  again.addEventListener('click', () => void load());
  const endListening = model.onBack(() => void load());
  void load();
  return {
    title: 'Problems',
    end: () => {
      ended = true;
      endListening();
    },
  };
}

function sections({
  failing,
  failingInAll,
  errors,
  quarantine,
  revised,
  jobs,
  locks,
}: Problems): HTMLElement[] {
  return [
    section(
      'Failing',
      failing.length === 0 ? 'No window failed, and no series is refused.' : null,
      table(
        failingInAll > failing.length
          ? `The first ${formatCount(failing.length)} of ${formatCount(failingInAll)}: series that the source refuses, then the newest failures`
          : `${formatCount(failingInAll)} in all`,
        ['Series', 'From', 'To', 'Reason', 'Next attempt'],
        failing.map((one) => [
          seriesLink(one.seriesId, one.name),
          one.window === null ? 'the whole series' : formatTime(one.window.startMs),
          one.window === null ? '' : formatTime(one.window.endMs),
          one.message,
          formatTime(wholeSecond(one.retryMs)),
        ]),
      ),
    ),
    section(
      'Failed requests',
      errors.length === 0 ? 'None in the last hour.' : null,
      table(
        'The last hour, by kind',
        ['Kind', 'Requests', 'Newest', 'Message'],
        errors.map((one) => [
          one.kind,
          formatCount(one.requests),
          formatTime(wholeSecond(one.newestMs)),
          one.message,
        ]),
      ),
    ),
    section(
      'Locks',
      locks.statements === 0 ? 'No statement waits for a lock.' : null,
      element(
        'p',
        {},
        `Statements that wait: ${formatCount(locks.statements)}. Held by: ${locks.holders.join(', ') || 'not known'}.`,
      ),
    ),
    section(
      'Database jobs',
      jobs.length === 0 ? 'No job fails.' : null,
      table(
        'TimescaleDB background jobs that fail or that no worker runs; the scheduler does their work',
        ['Job', 'Of', 'Last run', 'Failures', 'Message'],
        jobs.map((one) => [
          one.kind,
          one.of ?? '',
          one.lastRunMs === null ? 'never' : formatTime(wholeSecond(one.lastRunMs)),
          formatCount(one.failures),
          one.message,
        ]),
      ),
    ),
    section(
      'Quarantine',
      quarantine.length === 0 ? 'Empty: no row was rejected.' : null,
      table(
        'The newest rejected rows',
        ['Of', 'Seen', 'Reason', 'Row'],
        quarantine.map((one) => [
          one.seriesId === null || one.name === null ? one.dataset : seriesLink(one.seriesId, one.name),
          formatTime(wholeSecond(one.seenAtMs)),
          one.reason,
          element('code', {}, one.raw),
        ]),
      ),
    ),
    section(
      'Revisions',
      revised.length === 0 ? 'The source revised no stored value.' : null,
      table(
        'Revised values; the page of a series lists the newest',
        ['Series', 'Values'],
        revised.map((one) => [seriesLink(one.seriesId, one.name), formatCount(one.values)]),
      ),
    ),
  ];
}

/** @param none text instead of an empty table; null: show the content. */
export function section(title: string, none: string | null, content: Child): HTMLElement {
  const id = `part-${title.toLowerCase().replaceAll(/\W+/g, '-')}`;
  return element(
    'section',
    { 'aria-labelledby': id },
    element('h2', { id }, title),
    none === null ? content : element('p', {}, none),
  );
}

export function wholeSecond(timeMs: number): number {
  return Math.floor(timeMs / 1000) * 1000;
}
