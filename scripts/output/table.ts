/** Formats plain tables with aligned columns. */

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly right?: boolean;
  /** Where long cells are cut when the terminal is too narrow. */
  readonly shorten?: 'middle' | 'end';
}

const gap = '  ';
/** Minimum width of a shortened column. */
const minWidth = 12;

/** @param width of a line; null: unlimited. */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number | null = null,
): string {
  const cells = [
    columns.map((column) => column.title),
    ...rows.map((row) => columns.map((column) => column.value(row))),
  ];
  const natural = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  const widths = width === null ? natural : narrowed(natural, columns, width);
  return cells
    .map((line) =>
      line
        .map((cell, index) => {
          const size = widths[index] ?? 0;
          const text = shortened(cell, size, columns[index]?.shorten);
          return columns[index]?.right ? text.padStart(size) : text.padEnd(size);
        })
        .join(gap)
        .trimEnd(),
    )
    .join('\n');
}

/** @returns null: standard output is not a terminal. */
export function terminalWidth(): number | null {
  return process.stdout.isTTY ? process.stdout.columns : null;
}

/** Shortens the widest column until the line fits, if possible. */
function narrowed<Row>(
  natural: readonly number[],
  columns: readonly Column<Row>[],
  width: number,
): readonly number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, size) => sum + size, gap.length * (widths.length - 1));
  for (let excess = total() - width; excess > 0; excess -= 1) {
    let widest = -1;
    for (const [index, size] of widths.entries()) {
      if (columns[index]?.shorten === undefined || size <= minWidth) continue;
      if (widest === -1 || size > (widths[widest] ?? 0)) widest = index;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function shortened(text: string, size: number, where: 'middle' | 'end' | undefined): string {
  if (text.length <= size || where === undefined) return text;
  const tail = where === 'end' ? 0 : Math.floor((size - 1) / 2);
  return `${text.slice(0, size - 1 - tail)}…${text.slice(text.length - tail)}`;
}
