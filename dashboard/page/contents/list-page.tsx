/** The contents of a polled list, with the values before their last change. */

import type { ListContents } from '../../shapes.ts';
import { useFolded } from '../parts/folded.tsx';
import { formatAge, formatCount, formatSecond } from '../parts/format.ts';
import { LoadedPage } from '../parts/loaded-page.tsx';
import { ListSection, Section, TableAround } from '../parts/table.tsx';
import { fetchList } from '../state/server.ts';
import { useModel } from '../state/use-model.ts';

/** Entries before the rest is folded. */
const firstRows = 50;

export function ListPage({ name }: { name: string }) {
  return (
    <LoadedPage title={`List: ${name.replaceAll('_', ' ')}`} load={() => fetchList(name)} inputs={[name]}>
      {(contents) => <Contents contents={contents} />}
    </LoadedPage>
  );
}

function Contents({ contents: { key, columns, rows, inAll, gone } }: { contents: ListContents }) {
  const model = useModel();
  const { shown, button } = useFolded(rows, firstRows);
  const names = [...key, ...columns].map((column) => column.replaceAll('_', ' '));
  return (
    <>
      <Section id="part-entries" title="Entries">
        {rows.length === 0 ? (
          <p>The list has no entry yet.</p>
        ) : (
          <div class="scrolled" tabIndex={0} role="group" aria-labelledby="part-entries">
            <TableAround
              class="entries"
              isWide
              caption={
                (rows.length < inAll
                  ? `The first ${formatCount(rows.length)} of ${formatCount(inAll)}; `
                  : `${formatCount(inAll)} in all; `) +
                'the value before the last change stands below each that changed'
              }
              titles={[...names, 'changed']}
            >
              {shown.map(({ key: of, cells, before, sinceMs }) => (
                <tr key={of.join(' ')} role="row">
                  {of.map((text, place) => (
                    <th key={names[place]} scope="row" role="rowheader">
                      {text}
                    </th>
                  ))}
                  {cells.map((text, place) => (
                    <td key={columns[place]} role="cell" data-title={columns[place] ?? ''}>
                      {text ?? ''}
                      {before !== null && before[place] !== text && (
                        <span class="before">
                          {/* Heard as well as seen. */}
                          {`before: ${before[place] ?? 'nothing'}`}
                        </span>
                      )}
                    </td>
                  ))}
                  <td role="cell" data-title="changed">{`${formatAge(model.nowMs() - sinceMs)} ago`}</td>
                </tr>
              ))}
            </TableAround>
          </div>
        )}
        {button}
      </Section>
      <ListSection
        title="Gone"
        none="No entry has left the list."
        caption="Entries that two complete polls in a row lacked, the newest first; their rows stay stored"
        titles={['Entry', 'Since']}
        rows={gone.map(({ key: of, sinceMs }) => [of.join(' '), formatSecond(sinceMs)])}
      />
    </>
  );
}
