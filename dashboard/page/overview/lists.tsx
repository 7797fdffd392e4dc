/** The polled lists; each opens its contents. */

import type { Summary } from '../../shapes.ts';
import { formatAge, formatCount, formatDuration } from '../parts/format.ts';
import { Section, Table } from '../parts/table.tsx';
import { hrefOf } from '../state/address.ts';
import { useClock, useModel } from '../state/use-model.ts';

export function Lists({ lists }: { lists: Summary['lists'] }) {
  const model = useModel();
  useClock(1000);
  return (
    <Section id="lists" title="Lists">
      {lists.length === 0 ? (
        <p>No list is polled.</p>
      ) : (
        <Table
          caption="Polled lists"
          titles={['List', 'Every', 'Newest', 'Rows', 'Note']}
          rows={lists.map(({ name, newestMs, everyMs, rows, problem }) => [
            <a key="name" href={hrefOf({ view: 'list', list: name })}>
              {name.replaceAll('_', ' ')}
            </a>,
            everyMs === 0 ? '' : formatDuration(everyMs),
            newestMs === null ? 'never' : `${formatAge(model.nowMs() - newestMs)} ago`,
            rows === null ? '' : formatCount(rows),
            problem ?? '',
          ])}
        />
      )}
    </Section>
  );
}
