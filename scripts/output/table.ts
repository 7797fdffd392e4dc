/** Formats plain tables with aligned columns. */

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly right?: boolean;
  /** Where long cells are cut when the terminal is too narrow. */
  readonly shorten?: 'middle' | 'end';
  /** Narrow terminals omit the column: an empty one first, then the lowest. */
  readonly omit?: number;
}

const gap = '  ';
/** Minimum width of a shortened column: names differ at both ends. */
const minWidths = { middle: 24, end: 12 };

/** @param width of a line; null: unlimited. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number | null = null): string {
  const cells = [
    columns.map((column) => column.title),
    ...rows.map((row) => columns.map((column) => column.value(row))),
  ];
  const natural = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  const widths = width === null ? natural : narrowed(natural, columns, width);
  if (width !== null && lengthOf(widths) > width) {
    const order = (column: Column<Row>) =>
      rows.every((row) => column.value(row) === '') ? 0 : (column.omit ?? Number.POSITIVE_INFINITY);
    const [omitted] = [...columns].sort((one, other) => order(one) - order(other));
    if (omitted !== undefined && order(omitted) < Number.POSITIVE_INFINITY)
      return table(
        columns.filter((column) => column !== omitted),
        rows,
        width,
      );
  }
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
  if (!process.stdout.isTTY) return null;
  // A terminal without a size says 0.
  return process.stdout.columns || Number(process.env.COLUMNS) || 80;
}

function lengthOf(widths: readonly number[]): number {
  return widths.reduce((sum, size) => sum + size, gap.length * (widths.length - 1));
}

/** Breaks longer lines between words, and indents what follows. @param width of a line; null: unlimited. */
export function wrapped(text: string, width: number | null): string {
  if (width === null) return text;
  const lines = text.split('\n').flatMap((line) => {
    const indent = ' '.repeat(line.search(/\S|$/) + 2);
    const parts = [''];
    for (const word of line.split(/(?<=\S)(?= )/)) {
      const last = parts.length - 1;
      if (parts[last] === '' || `${parts[last]}${word}`.length <= width) parts[last] += word;
      else parts.push(indent + word.trimStart());
    }
    return parts;
  });
  return lines.join('\n');
}

/** Prints a text, wrapped to the terminal. */
export function printText(text: string): void {
  console.log(wrapped(text, terminalWidth()));
}

/** Shortens the widest column until the line fits, if possible. */
function narrowed<Row>(natural: readonly number[], columns: readonly Column<Row>[], width: number): readonly number[] {
  const widths = [...natural];
  for (let excess = lengthOf(widths) - width; excess > 0; excess -= 1) {
    let widest = -1;
    for (const [index, size] of widths.entries()) {
      const shorten = columns[index]?.shorten;
      if (shorten === undefined || size <= minWidths[shorten]) continue;
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

/** A line beside the output of a command. */
export function noteOnStderr(text: string): void {
  console.error(`tidemark: ${text}`);
}
