/** The state of the whole, above every view: one sentence with a colour and its list, and what else is to be known. */

import { useEffect, useLayoutEffect } from 'preact/hooks';
import type { Headline, Level, ListName } from '../../../planning/conditions.ts';
import { hrefOf } from '../state/address.ts';
import { useClock, useModel } from '../state/use-model.ts';
import { asSentence, formatAge, formatCount } from './format.ts';
import { FoldedWhenNarrow } from './table.tsx';

const problemsHref = hrefOf({ view: 'problems' });

/** Where each list is on the page, and the words of its link. */
const listLinks: Readonly<Record<ListName, readonly [words: string, href: string]>> = {
  series: ['Show the series', `${hrefOf({})}#series`],
  failing: ['Show the failing ranges', `${problemsHref}#part-failing`],
  awaiting: ['Show the series asked again', `${hrefOf({ filter: 'awaiting' })}#series`],
  failed_requests: ['Show the failed requests', `${problemsHref}#part-failed-requests`],
  jobs: ['Show the failing jobs', `${problemsHref}#part-database-jobs`],
  quarantine: ['Show the rejected rows', `${problemsHref}#part-quarantine`],
  queue: ['Show the requests', `${hrefOf({})}#budget`],
};

export function State() {
  const model = useModel();
  const { trouble, summary, connection } = model;
  useClock(5000);
  const isOld = summary !== null && connection !== 'live';
  useEffect(() => void document.body.classList.toggle('stale', isOld), [isOld]);
  // How much room the sentence takes is not known before. Views load meanwhile, and are shown below it.
  const isFirst = summary === null && connection === 'connecting';
  useLayoutEffect(() => void document.body.classList.toggle('first', isFirst), [isFirst]);
  const told = trouble?.headline ?? summary?.state.headline;
  const further = trouble === null ? (summary?.state.also ?? []) : [];
  return (
    <section class="state" aria-label="State">
      {/* Screen readers announce each change of it; the room is kept before the first one. */}
      <p class="headline" role="status" data-level={told?.level ?? 'none'}>
        {told === undefined ? 'Loading.' : <Words {...told} />}
      </p>
      {/* Not a part of the sentence, which is announced at each change. */}
      <p class="age" hidden={!isOld}>
        {isOld && `The figures are ${formatAge(model.nowMs() - summary.nowMs)} old.`}
      </p>
      {further.length > 0 && (
        <FoldedWhenNarrow title={moreText(further, told?.level)}>
          <ul class="also" aria-label="Also">
            {further.map((one) => (
              <li key={one.kind + one.text} data-level={one.level}>
                <Words {...one} />
              </li>
            ))}
          </ul>
        </FoldedWhenNarrow>
      )}
    </section>
  );
}

/** `2 more, 1 of them bad`: a milder sentence may stand before it. */
function moreText(further: readonly Headline[], told: Level | undefined): string {
  const bad = told === 'bad' ? 0 : further.filter(({ level }) => level === 'bad').length;
  return `${formatCount(further.length)} more${bad === 0 ? '' : `, ${formatCount(bad)} of them bad`}`;
}

function Words({ text, list, command }: Headline) {
  const [words, href] = list === null ? [null, ''] : listLinks[list];
  return (
    <>
      {asSentence(`${text.charAt(0).toUpperCase()}${text.slice(1)}`)}
      {words !== null && (
        <>
          {' '}
          <a href={href}>{words}</a>
        </>
      )}
      {command !== null && (
        <>
          {' '}
          <code>{command}</code>
        </>
      )}
    </>
  );
}
