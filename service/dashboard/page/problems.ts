/** The view of what does not go well. It is read when it is opened, on request, and when a lost store is back. */

import type { Problems } from '../shapes.ts';
import { seriesLink } from './address.ts';
import { askProblems } from './ask.ts';
import { type Child, element, fill, table } from './element.ts';
import type { Shown } from './main.ts';
import type { Model } from './model.ts';
import { count, moment } from './wording.ts';

export function problems(main: HTMLElement, model: Model): Shown {
  const content = element('div', {}, element('p', {}, 'Reading what is stored.'));
  const again = element('button', { type: 'button' }, 'Read again');
  fill(main, element('h1', {}, 'Problems'), again, content);
  let ended = false;
  let asked = 0;
  async function load(): Promise<void> {
    asked += 1;
    const mine = asked;
    // What was asked for last counts, whichever is answered last.
    const isWanted = () => !ended && mine === asked;
    try {
      const found = await askProblems();
      if (isWanted()) fill(content, ...sections(found));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (isWanted())
        fill(content, element('p', { class: 'bad', role: 'alert' }, `This could not be read: ${message}.`));
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

function sections({ failing, failingInAll, errors, quarantine, revised }: Problems): HTMLElement[] {
  return [
    part(
      'Failing',
      failing.length === 0 ? 'No window failed, and no series is refused.' : null,
      table(
        failingInAll > failing.length
          ? `The first ${count(failing.length)} of ${count(failingInAll)}: series that the source refuses, then the newest failures`
          : `${count(failingInAll)} in all`,
        ['Series', 'From', 'To', 'Reason', 'Tried again'],
        failing.map((one) => [
          seriesLink(one.seriesId, one.name),
          one.window === null ? 'the whole series' : moment(one.window.startMs),
          one.window === null ? '' : moment(one.window.endMs),
          one.message,
          moment(second(one.retryMs)),
        ]),
      ),
    ),
    part(
      'Requests that gave nothing',
      errors.length === 0 ? 'None in the last hour.' : null,
      table(
        'The last hour, by kind',
        ['Kind', 'Requests', 'Newest', 'What was said'],
        errors.map((one) => [one.kind, count(one.requests), moment(second(one.newestMs)), one.message]),
      ),
    ),
    part(
      'Quarantine',
      quarantine.length === 0 ? 'Empty: every row could be used.' : null,
      table(
        'The newest rows that could not be used',
        ['Of', 'Seen', 'Reason', 'Row'],
        quarantine.map((one) => [
          one.seriesId === null || one.name === null ? one.dataset : seriesLink(one.seriesId, one.name),
          moment(second(one.seenAtMs)),
          one.reason,
          element('code', {}, one.raw),
        ]),
      ),
    ),
    part(
      'Revisions',
      revised.length === 0 ? 'The source changed nothing that is stored.' : null,
      table(
        'Values that the source changed afterwards; the page of a series has the newest',
        ['Series', 'Values'],
        revised.map((one) => [seriesLink(one.seriesId, one.name), count(one.values)]),
      ),
    ),
  ];
}

/** @param none what stands there instead of an empty table. */
export function part(title: string, none: string | null, content: Child): HTMLElement {
  const id = `part-${title.toLowerCase().replaceAll(/\W+/g, '-')}`;
  return element(
    'section',
    { 'aria-labelledby': id },
    element('h2', { id }, title),
    none === null ? content : element('p', {}, none),
  );
}

export function second(timeMs: number): number {
  return Math.floor(timeMs / 1000) * 1000;
}
