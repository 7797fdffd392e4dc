/** What is polled as a whole: each list with the age of its newest row. */

import type { Summary } from '../shapes.ts';
import { element, fill, table, write } from './element.ts';
import type { Model } from './model.ts';
import { age, count, duration } from './wording.ts';

type Lists = Summary['lists'];

export function polledLists(model: Model) {
  const content = element('div');
  const section = element(
    'section',
    { 'aria-labelledby': 'lists' },
    element('h2', { id: 'lists' }, 'Lists'),
    content,
  );
  let shown = '';
  let ages: (() => void)[] = [];

  /** Made anew only where it differs, so that what is being read stays. */
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
      everyMs === 0 ? '' : duration(everyMs),
      newestMs === null ? 'never' : aging(newestMs),
      rows === null ? '' : count(rows),
      problem ?? '',
    ]);
    fill(content, table('What is polled as a whole', ['List', 'Every', 'Newest', 'Rows', 'Note'], rows));
  }

  function aging(sinceMs: number): HTMLElement {
    const into = element('span');
    const tell = () => write(into, `${age(model.nowMs() - sinceMs)} ago`);
    ages.push(tell);
    tell();
    return into;
  }

  // Ages grow by themselves.
  const clock = setInterval(() => {
    for (const tell of ages) tell();
  }, 1000);
  return { section, update, end: () => clearInterval(clock) };
}
