/** The problems view. It loads when it opens, on request, and when a lost store is back. */

import type { Problems } from '../shapes.ts';
import { recentActions } from './actions.ts';
import { seriesLink } from './address.ts';
import { element, fill, listSection, section } from './element.ts';
import { formatCount, formatSecond, formatTime } from './format.ts';
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
      const [found, actions] = await Promise.all([fetchProblems(), recentActions()]);
      if (isWanted()) fill(content, ...sections(found), actions);
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

/** They are tried again by themselves; a refused name is a mistake of the watch list more often than of the source. */
function remedyOf({ isRefused }: Problems['causes'][number]): HTMLElement {
  return element('code', {}, isRefused ? 'tidemark untrack SERIES' : 'tidemark retry');
}

function sections(found: Problems): HTMLElement[] {
  const { failing, failingInAll, causes, errors, quarantine, revised, jobs, locks } = found;
  return [
    listSection(
      'Failing',
      'No window failed, and no series is refused.',
      'By what the source said',
      ['Reason', 'Series', 'Ranges', 'Next attempt', 'What helps'],
      causes.map((one) => [
        one.message,
        formatCount(one.series),
        formatCount(one.ranges),
        formatSecond(one.nextMs),
        remedyOf(one),
      ]),
    ),
    listSection(
      'Failing ranges',
      'None.',
      failingInAll > failing.length
        ? `The first ${formatCount(failing.length)} of ${formatCount(failingInAll)}: series that the source refuses, then the newest failures`
        : `${formatCount(failingInAll)} in all`,
      ['Series', 'From', 'To', 'Reason', 'Next attempt'],
      failing.map((one) => [
        seriesLink(one.seriesId, one.name),
        one.window === null ? 'the whole series' : formatTime(one.window.startMs),
        one.window === null ? '' : formatTime(one.window.endMs),
        one.message,
        formatSecond(one.retryMs),
      ]),
    ),
    listSection(
      'Failed requests',
      'None in the last hour.',
      'The last hour, by kind',
      ['Kind', 'Requests', 'Newest', 'Message'],
      errors.map((one) => [one.kind, formatCount(one.requests), formatSecond(one.newestMs), one.message]),
    ),
    section(
      'part-locks',
      'Locks',
      element(
        'p',
        {},
        locks.statements === 0
          ? 'No statement waits for a lock.'
          : `Statements that wait: ${formatCount(locks.statements)}. Held by: ${locks.holders.join(', ') || 'not known'}.`,
      ),
    ),
    listSection(
      'Database jobs',
      'No job fails.',
      'TimescaleDB background jobs that fail or that no worker runs; the scheduler does their work',
      ['Job', 'Of', 'Last run', 'Failures', 'Message'],
      jobs.map((one) => [
        one.kind,
        one.of ?? '',
        one.lastRunMs === null ? 'never' : formatSecond(one.lastRunMs),
        formatCount(one.failures),
        one.message,
      ]),
    ),
    listSection(
      'Quarantine',
      'Empty: no row was rejected.',
      'The newest rejected rows',
      ['Of', 'Seen', 'Reason', 'Row'],
      quarantine.map((one) => [
        one.seriesId === null || one.name === null ? one.dataset : seriesLink(one.seriesId, one.name),
        formatSecond(one.seenAtMs),
        one.reason,
        element('code', {}, one.raw),
      ]),
    ),
    listSection(
      'Revisions',
      'The source revised no stored value.',
      'Revised values; the page of a series lists the newest',
      ['Series', 'Values'],
      revised.map((one) => [seriesLink(one.seriesId, one.name), formatCount(one.values)]),
    ),
  ];
}
