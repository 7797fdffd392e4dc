/**
 * Tables and sections. On a narrow screen each row is a card: the roles are written out, as a changed display takes
 * them away.
 */

import type { ComponentChildren } from 'preact';

export type Cell = ComponentChildren;

export function Table({
  caption,
  titles,
  rows,
  keys,
}: {
  caption: ComponentChildren;
  titles: readonly string[];
  rows: readonly (readonly Cell[])[];
  /** Of the rows, which then stay themselves when others come and go; absent: their places. */
  keys?: readonly number[];
}) {
  const kinds = titles.map((_, place) => kindOf(rows.map((cells) => cells[place])));
  return (
    <TableAround caption={caption} titles={titles} kinds={kinds}>
      {rows.map((cells, row) => (
        <tr key={keys?.[row] ?? row} role="row">
          {cells.map((cell, place) => (
            <td key={titles[place]} role="cell" data-title={titles[place] ?? ''} class={kinds[place]}>
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </TableAround>
  );
}

/** Figures are aligned at their last digit, and times are not broken. */
type ColumnKind = 'figure' | 'time' | '';

const figure = /^[\d,.]+( (%|ms|[kMGT]?B))?$/;
const time = /^\d{4}-\d\d-\d\d[ \d:.Z]*$/;

function kindOf(column: readonly Cell[]): ColumnKind {
  const texts = column.filter((cell) => cell !== '');
  const areAll = (of: RegExp) => texts.every((cell) => typeof cell === 'string' && of.test(cell));
  if (texts.length === 0) return '';
  return areAll(figure) ? 'figure' : areAll(time) ? 'time' : '';
}

/** A table whose rows are given as elements. */
export function TableAround({
  caption,
  titles,
  kinds = [],
  isWide = false,
  children,
  ...more
}: {
  readonly caption: ComponentChildren;
  readonly titles: readonly string[];
  readonly kinds?: readonly ColumnKind[];
  /** Scrolls on a narrow screen in place of becoming cards. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly hidden?: boolean;
}) {
  return (
    <table role="table" {...more} class={`${isWide ? '' : 'cards '}${more.class ?? ''}`.trim()}>
      <caption>{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {titles.map((title, place) => (
            <th key={title} scope="col" role="columnheader" class={kinds[place] ?? ''}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{children}</tbody>
    </table>
  );
}

/** Whether rows are cards, as in the style sheet. */
export function isNarrow(): boolean {
  return matchMedia('(max-width: 48rem)').matches;
}

/** Content that is folded on a narrow screen. */
export function FoldedWhenNarrow({ title, children }: { title: string; children: ComponentChildren }) {
  if (!isNarrow()) return <>{children}</>;
  return (
    <details>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

/** A section with the heading that names it. */
export function Section({
  id,
  title,
  hidden = false,
  children,
}: {
  id: string;
  title: string;
  hidden?: boolean;
  children: ComponentChildren;
}) {
  return (
    <section aria-labelledby={id} hidden={hidden}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** A section with a table. @param none text in its place when there are no rows. */
export function ListSection({ title, none, ...table }: { title: string; none: string } & Parameters<typeof Table>[0]) {
  const id = `part-${title.toLowerCase().replaceAll(/\W+/g, '-')}`;
  return (
    <Section id={id} title={title}>
      {table.rows.length === 0 ? <p>{none}</p> : <Table {...table} />}
    </Section>
  );
}
