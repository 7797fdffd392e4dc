/**
 * The text formats. Their lines are read with bounded memory.
 *
 *   CSV         as RFC 4180 defines it, with a header and `\n`. The reader also accepts `\r\n` and quotes around any
 *               field. An absent name or value is an empty field, and an empty name a quoted one, as in PostgreSQL.
 *   JSON Lines  an object per line. Decimals are strings, because most readers convert a JSON number to a double. For
 *               the same reason the reader rejects decimals that are numbers. An absent name or value is null.
 */

import { objectOf } from '../model/json.ts';
import type { StoredDataset } from '../model/stored-datasets.ts';
import { contentOf } from './content.ts';
import { FileProblem } from './file-problem.ts';
import {
  columnsOf,
  type Layout,
  layoutOf,
  type Output,
  type ReadRow,
  type RowFile,
  type RowWriter,
  rowOf,
  timeText,
} from './layout.ts';

/** Rows are shorter: names and decimals have at most 200 characters. */
const longestLine = 1_000_000;

interface Line {
  readonly text: string;
  /** Whether it ends with a line feed. The last line of a truncated file does not. */
  readonly isWhole: boolean;
}

/**
 * @throws FileProblem when it is not UTF-8, or has a line of a million characters; what the reading of `bytes` throws.
 */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line[]> {
  let rest = '';
  for await (const text of textOf(bytes)) {
    const pieces = (rest + text).split('\n');
    rest = pieces.pop() ?? '';
    if (rest.length > longestLine)
      throw new FileProblem(
        'it has a line of more than a million characters',
        'check that it is a text file of the named format',
      );
    yield pieces.map((line) => ({ text: line, isWhole: true }));
  }
  if (rest !== '') yield [{ text: rest, isWhole: false }];
}

/** @throws FileProblem when the bytes are not UTF-8. */
export async function* textOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decoded = (piece?: Uint8Array) => {
    try {
      return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
    } catch {
      throw new FileProblem('it is not UTF-8 text', 'unpack it if it is compressed otherwise, or convert it to UTF-8');
    }
  };
  for await (const piece of bytes) yield decoded(piece);
  yield decoded();
}

const cutOff = 'the file ends within this row';

type Fields = (string | null)[];
interface CsvRecord {
  /** Its first line, from 1. */
  readonly line: number;
  readonly raw: string;
  /** Null: not a record. */
  readonly fields: Fields | null;
  readonly isWhole: boolean;
}

/** @throws FileProblem when it is not a CSV file of an export. */
export async function readCsv(path: string, dataset: StoredDataset | null): Promise<RowFile> {
  const header = await headerOf(path);
  const layout = layoutOf(header, dataset);
  const places = columnsOf(layout).map((name) => header.indexOf(name));
  const width = header.length;
  const readRow = ({ line, raw, fields, isWhole }: CsvRecord): ReadRow => {
    const refused = (reason: string) => ({ raw, reason: `line ${line}: ${reason}` });
    if (!isWhole) return refused(cutOff);
    if (fields === null) return refused('unbalanced quotes');
    if (fields.length !== width) return refused(`it has ${fields.length} fields, not ${width}`);
    return rowOf(
      layout,
      places.map((place) => fields[place] ?? null),
      `line ${line}`,
    );
  };
  return {
    layout,
    async *pages() {
      let isHeader = true;
      for await (const records of recordsOf(path)) {
        yield records.slice(isHeader ? 1 : 0).map(readRow);
        isHeader = false;
      }
    },
  };
}

async function headerOf(path: string): Promise<string[]> {
  for await (const [first] of recordsOf(path)) {
    if (first?.fields) return first.fields.map((field) => field?.trim().replace(/^\uFEFF/, '') ?? '');
    if (first !== undefined) break;
  }
  throw new FileProblem('it has no header', 'add the line with the names of its columns');
}

/** A record may span lines: a quoted field may contain line feeds. */
async function* recordsOf(path: string): AsyncGenerator<CsvRecord[]> {
  let open = '';
  let first = 1;
  let next = 1;
  for await (const lines of linesOf(contentOf(path, 'csv'))) {
    const records: CsvRecord[] = [];
    for (const { text, isWhole } of lines) {
      if (open === '') first = next;
      next += 1;
      const raw = open === '' ? text : `${open}\n${text}`;
      if (isWhole && hasOpenQuote(raw)) {
        open = raw;
        continue;
      }
      open = '';
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line !== '') records.push({ line: first, raw: line, fields: fieldsOf(line), isWhole });
    }
    if (records.length > 0) yield records;
  }
  if (open !== '') yield [{ line: first, raw: open, fields: null, isWhole: false }];
}

/** Limits the damage of an unbalanced quote to this many characters. */
const longestRecord = 10_000;

function hasOpenQuote(text: string): boolean {
  if (!text.includes('"') || text.length > longestRecord) return false;
  let quotes = 0;
  for (const character of text) if (character === '"') quotes += 1;
  return quotes % 2 === 1;
}

/** Those first that are not within numbers. */
export const separators = [';', '\t', '|', ','] as const;
export type Separator = (typeof separators)[number];

const quotedFields: Readonly<Record<Separator, RegExp>> = {
  ',': /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y,
  ';': /(?:"((?:[^"]|"")*)"|([^";]*))(;|$)/y,
  '\t': /(?:"((?:[^"]|"")*)"|([^"\t]*))(\t|$)/y,
  '|': /(?:"((?:[^"]|"")*)"|([^"|]*))(\||$)/y,
};

/** The fields of a line of CSV; null: unbalanced quotes. */
export function fieldsOf(line: string, separator: Separator = ','): Fields | null {
  if (!line.includes('"')) return line.split(separator).map((field) => (field === '' ? null : field));
  const fields: Fields = [];
  const quotedField = quotedFields[separator];
  quotedField.lastIndex = 0;
  for (;;) {
    const match = quotedField.exec(line);
    if (match === null) return null;
    const [, quoted, plain = '', end] = match;
    fields.push(quoted === undefined ? (plain === '' ? null : plain) : quoted.replaceAll('""', '"'));
    if (end === '') return fields;
  }
}

export async function csvWriter(layout: Layout, output: Output): Promise<RowWriter> {
  await output.write(Buffer.from(`${columnsOf(layout).join(',')}\n`));
  return {
    async write({ names, points }) {
      const head = names.map(field).join(',');
      // Decimals and times need no quotes.
      const lines = points.map(({ timeMs, values }) => `${head},${timeText(timeMs)},${values.join(',')}\n`);
      if (lines.length > 0) await output.write(Buffer.from(lines.join('')));
    },
    end: async () => {},
  };
}

function field(text: string | null): string {
  if (text === null) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @throws FileProblem when it is not a JSON Lines file of an export. */
export async function readJsonl(path: string, dataset: StoredDataset | null): Promise<RowFile> {
  const layout = layoutOf(Object.keys(await firstObject(path)), dataset);
  return {
    layout,
    async *pages() {
      let before = 0;
      for await (const lines of linesOf(contentOf(path, 'jsonl'))) {
        const from = before;
        before += lines.length;
        yield lines.flatMap((line, at) =>
          line.text.trim() === '' ? [] : [readObject(line, layout, `line ${from + at + 1}`)],
        );
      }
    },
  };
}

async function firstObject(path: string): Promise<object> {
  for await (const [line] of linesOf(contentOf(path, 'jsonl'))) {
    const value = line === undefined ? null : objectOf(line.text);
    if (value !== null) return value;
    break;
  }
  throw new FileProblem('its first line is not a JSON object', 'check its format: --format names it');
}

function readObject({ text, isWhole }: Line, layout: Layout, place: string): ReadRow {
  if (!isWhole) return { raw: text, reason: `${place}: ${cutOff}` };
  const value = objectOf(text);
  if (value === null) return { raw: text, reason: `${place}: not a JSON object` };
  const wrong = layout.optional.find((name) => value[name] != null && typeof value[name] !== 'string');
  if (wrong !== undefined) return { raw: text, reason: `${place}: ${wrong}: not a decimal as text` };
  const cells = columnsOf(layout).map((name) => value[name]);
  return rowOf(
    layout,
    cells.map((cell) => (typeof cell === 'string' ? cell : null)),
    place,
  );
}

export async function jsonlWriter(layout: Layout, output: Output): Promise<RowWriter> {
  return {
    async write({ names, points }) {
      const head = layout.names
        .map((name, place) => `${JSON.stringify(name)}:${JSON.stringify(names[place] ?? null)}`)
        .join(',');
      const lines = points.map(({ timeMs, values }) => {
        const rest = values
          .map((value, place) => `"${layout.values[place]}":${value === null ? null : `"${value}"`}`)
          .join(',');
        return `{${head},"time":"${timeText(timeMs)}",${rest}}\n`;
      });
      if (lines.length > 0) await output.write(Buffer.from(lines.join('')));
    },
    end: async () => {},
  };
}
