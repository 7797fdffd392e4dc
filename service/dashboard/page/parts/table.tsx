/** Tables and sections. On a narrow screen each row is a card: the roles are written out, as a changed display takes them away. */

import type { ComponentChildren } from 'preact';

export type Cell = ComponentChildren;

export function Table({
  caption,
  titles,
  rows,
}: {
  readonly caption: ComponentChildren;
  readonly titles: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}) {
  return (
    <TableAround caption={caption} titles={titles}>
      {rows.map((cells, row) => (
        <tr key={row} role="row">
          {cells.map((cell, place) => (
            <td key={titles[place]} role="cell" data-title={titles[place] ?? ''}>
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </TableAround>
  );
}

/** A table whose rows are given as elements. */
export function TableAround({
  caption,
  titles,
  children,
  ...more
}: {
  readonly caption: ComponentChildren;
  readonly titles: readonly string[];
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly hidden?: boolean;
}) {
  return (
    <table role="table" {...more} class={`cards ${more.class ?? ''}`.trim()}>
      <caption>{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {titles.map((title) => (
            <th key={title} scope="col" role="columnheader">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{children}</tbody>
    </table>
  );
}

/** A section with the heading that names it. */
export function Section({
  id,
  title,
  hidden = false,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly hidden?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <section aria-labelledby={id} hidden={hidden}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** A section with a table. @param none text in its place when there are no rows. */
export function ListSection({
  title,
  none,
  ...table
}: {
  readonly title: string;
  readonly none: string;
  readonly caption: string;
  readonly titles: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}) {
  const id = `part-${title.toLowerCase().replaceAll(/\W+/g, '-')}`;
  return (
    <Section id={id} title={title}>
      {table.rows.length === 0 ? <p>{none}</p> : <Table {...table} />}
    </Section>
  );
}
