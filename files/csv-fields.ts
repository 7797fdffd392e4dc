/** The records of CSV and their fields, as text. */

type Fields = (string | null)[];

export interface CsvRecord {
  /** Its first line, from 1. */
  readonly line: number;
  readonly raw: string;
  /** Null: not a record. */
  readonly fields: Fields | null;
  readonly isWhole: boolean;
}

/** Makes records of lines. One may span lines: a quoted field may contain line feeds. */
export class CsvRecords {
  /** Lines so far. */
  line = 0;
  #first = 1;
  #open = '';

  /** Whether the lines so far end within a record. */
  get isOpen(): boolean {
    return this.#open !== '';
  }

  /** @param isWhole whether it ends with a line feed. @returns the record that it ends; null: it ends none. */
  add(text: string, isWhole: boolean): CsvRecord | null {
    this.line += 1;
    if (this.#open === '') this.#first = this.line;
    const raw = this.#open === '' ? text : `${this.#open}\n${text}`;
    if (isWhole && hasOpenQuote(raw)) {
      this.#open = raw;
      return null;
    }
    this.#open = '';
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    return line === '' ? null : { line: this.#first, raw: line, fields: fieldsOf(line), isWhole };
  }

  /** The record that the end of the file cuts off. */
  end(): CsvRecord | null {
    return this.#open === '' ? null : { line: this.#first, raw: this.#open, fields: null, isWhole: false };
  }
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
