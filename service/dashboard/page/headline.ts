/** The state of the whole, above every view: one sentence with a colour and its list, and what else is to be known. */

import type { Headline, ListName } from '../../../planning/conditions.ts';
import { hrefOf } from './address.ts';
import { element, fill, setText } from './element.ts';
import { formatAge } from './format.ts';
import type { Model } from './model.ts';

const problemsHref = hrefOf({ view: 'problems' });

/** Where each list is on the page. */
export const listHrefs: Readonly<Record<ListName, string>> = {
  series: hrefOf({}),
  failing: `${problemsHref}#part-failing`,
  awaiting: hrefOf({ filter: 'awaiting' }),
  failed_requests: `${problemsHref}#part-failed-requests`,
  jobs: `${problemsHref}#part-database-jobs`,
  quarantine: `${problemsHref}#part-quarantine`,
  queue: `${hrefOf({})}#budget`,
};

export function headline(model: Model): HTMLElement {
  const sentence = element('p', { class: 'headline', role: 'status' });
  const also = element('ul', { class: 'also', 'aria-label': 'Also' });
  // Not a part of the sentence, which is announced at each change.
  const age = element('p', { class: 'age', hidden: true });
  const block = element(
    'section',
    { class: 'state', 'aria-label': 'State', hidden: true },
    sentence,
    age,
    also,
  );
  let shown = '';

  function update(): void {
    const { trouble, summary } = model;
    if (summary === null && trouble === null) return;
    block.hidden = false;
    const told = trouble?.headline ?? summary?.state.headline;
    if (told === undefined) return;
    const further = trouble === null ? (summary?.state.also ?? []) : [];
    const now = JSON.stringify([told, further]);
    // Screen readers announce every write to a live region.
    if (now !== shown) {
      sentence.dataset.level = told.level;
      fill(sentence, ...wordsOf(told));
      fill(also, ...further.map((one) => element('li', { 'data-level': one.level }, ...wordsOf(one))));
      also.hidden = further.length === 0;
    }
    shown = now;
    tellAge();
  }

  /** The age of what is shown, once no events come. */
  function tellAge(): void {
    const { summary } = model;
    const isOld = summary !== null && model.connection !== 'live';
    document.body.classList.toggle('stale', isOld);
    age.hidden = !isOld;
    if (isOld) setText(age, `The figures are ${formatAge(model.nowMs() - summary.nowMs)} old.`);
  }
  model.onChange(update);
  setInterval(tellAge, 5000);
  return block;
}

function wordsOf({ text, list, command }: Headline): (Node | string)[] {
  const link = list === null ? null : element('a', { href: listHrefs[list] }, 'Show');
  const help = command === null ? null : element('code', {}, command);
  return [`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, link, help].flatMap((part) =>
    part === null ? [] : typeof part === 'string' ? [part] : [' ', part],
  );
}
