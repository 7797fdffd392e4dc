/**
 * CSV as RFC 4180 defines it, with a header and `\n`. The reader also accepts `\r\n` and quotes around any field. An absent
 * name is an empty field, and an empty name a quoted one, as in PostgreSQL.
 */

import {
  columnsOf,
  type Layout,
  layoutOf,
  type Output,
  pageRows,
  type ReadRow,
  type RowFile,
  type RowWriter,
  rowOf,
  timeText,
  unknownColumns,
} from './layout.ts';
import { cutOff, linesOf } from './text-lines.ts';

type Fields = (string | null)[];
interface CsvRecord {
  readonly raw: string;
  /** Null: not a record. */
  readonly fields: Fields | null;
  readonly isWhole: boolean;
}

/** @throws Error when it is not a CSV file of an export. */
export async function readCsv(path: string): Promise<RowFile> {
  const header = await headerOf(path);
  const layout = layoutOf(header);
  if (layout === null) throw unknownColumns(header);
  const places = columnsOf(layout).map((name) => header.indexOf(name));
  const width = header.length;
  const readRow = ({ raw, fields, isWhole }: CsvRecord): ReadRow => {
    if (!isWhole) return { raw, reason: cutOff };
    if (fields === null) return { raw, reason: 'unbalanced quotes' };
    if (fields.length !== width) return { raw, reason: `it has ${fields.length} fields, not ${width}` };
    const cells = places.map((place) => fields[place] ?? null);
    return rowOf(layout, cells);
  };
  return {
    layout,
    async *pages() {
      let page: ReadRow[] = [];
      let isHeader = true;
      for await (const records of recordsOf(path)) {
        for (const record of records) {
          if (!isHeader) page.push(readRow(record));
          isHeader = false;
          if (page.length < pageRows) continue;
          yield page;
          page = [];
        }
      }
      if (page.length > 0) yield page;
    },
  };
}

async function headerOf(path: string): Promise<string[]> {
  for await (const [first] of recordsOf(path)) {
    if (first?.fields) return first.fields.map((field) => field?.trim().replace(/^\uFEFF/, '') ?? '');
    if (first !== undefined) break;
  }
  throw new Error('it has no header');
}

/** A record may span lines: a quoted field may contain line feeds. */
async function* recordsOf(path: string): AsyncGenerator<CsvRecord[]> {
  let open = '';
  for await (const lines of linesOf(path)) {
    const records: CsvRecord[] = [];
    for (const { text, isWhole } of lines) {
      const raw = open === '' ? text : `${open}\n${text}`;
      if (isWhole && hasOpenQuote(raw)) {
        open = raw;
        continue;
      }
      open = '';
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line !== '') records.push({ raw: line, fields: fieldsOf(line), isWhole });
    }
    if (records.length > 0) yield records;
  }
  if (open !== '') yield [{ raw: open, fields: null, isWhole: false }];
}

/** Limits the damage of an unbalanced quote to this many characters. */
const longestRecord = 10_000;

function hasOpenQuote(text: string): boolean {
  if (!text.includes('"') || text.length > longestRecord) return false;
  let quotes = 0;
  for (const character of text) if (character === '"') quotes += 1;
  return quotes % 2 === 1;
}

const quotedField = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

function fieldsOf(line: string): Fields | null {
  if (!line.includes('"')) return line.split(',').map((field) => (field === '' ? null : field));
  const fields: Fields = [];
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
