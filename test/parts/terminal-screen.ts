/** Emulates a terminal for the codes that Tidemark uses. Any other code is an error: a terminal need not support it. */

/** After the escape character. */
const code = /^\[(?<private>\?)?(?<number>[\d;]*)(?<letter>[A-Za-z])/;

interface Buffer {
  rows: string[];
  row: number;
  column: number;
}

export class TerminalScreen {
  columns: number;
  height: number;
  isCursorShown = true;
  /** Lines that were too long for the terminal, as drawn. */
  readonly folded: string[] = [];
  /** The number of times a style was set. */
  styles = 0;
  readonly #buffer: Buffer = { rows: [''], row: 0, column: 0 };
  #rest = '';

  constructor(columns: number, height: number) {
    this.columns = columns;
    this.height = height;
  }

  /** The visible lines, without trailing blanks. */
  lines(): string[] {
    return this.#buffer.rows.map((row) => row.trimEnd());
  }

  text(): string {
    return this.lines().join('\n').trimEnd();
  }

  resize(columns: number, height: number): void {
    this.columns = columns;
    this.height = height;
  }

  write(text: string): void {
    let rest = this.#rest + text;
    this.#rest = '';
    while (rest !== '') {
      if (rest.startsWith('\u001b')) {
        const match = code.exec(rest.slice(1));
        if (match === null) {
          if (rest.length > 12) throw new Error(`an unknown code: ${JSON.stringify(rest.slice(0, 12))}`);
          this.#rest = rest;
          return;
        }
        this.#obey(match[0], match.groups?.private === '?', match.groups?.number ?? '', match.groups?.letter ?? '');
        rest = rest.slice(1 + match[0].length);
      } else {
        const end = rest.indexOf('\u001b');
        const plain = end === -1 ? rest : rest.slice(0, end);
        for (const character of plain) this.#put(character);
        rest = rest.slice(plain.length);
      }
    }
  }

  #obey(whole: string, isPrivate: boolean, number: string, letter: string): void {
    const buffer = this.#buffer;
    const count = number === '' ? 1 : Number(number);
    if (isPrivate && number === '25') this.isCursorShown = letter === 'h';
    else if (letter === 'm') this.styles += 1;
    else if (letter === 'A') buffer.row = Math.max(0, buffer.row - count);
    else if (letter === 'G') buffer.column = count - 1;
    else if (letter === 'K' && number === '') this.#row((text) => text.slice(0, buffer.column));
    else if (letter === 'J' && (number === '' || number === '0')) {
      this.#row((text) => text.slice(0, buffer.column));
      buffer.rows.length = buffer.row + 1;
    } else throw new Error(`an unknown code: ${JSON.stringify(whole)}`);
  }

  #put(character: string): void {
    const buffer = this.#buffer;
    if (character === '\r') buffer.column = 0;
    else if (character === '\n') this.#newLine();
    else {
      if (buffer.column >= this.columns) {
        this.folded.push(buffer.rows[buffer.row] ?? '');
        buffer.column = 0;
        this.#newLine();
      }
      const at = buffer.column;
      this.#row((text) => text.slice(0, at).padEnd(at) + character + text.slice(at + 1));
      buffer.column += 1;
    }
  }

  #newLine(): void {
    const buffer = this.#buffer;
    buffer.row += 1;
    if (buffer.row === buffer.rows.length) buffer.rows.push('');
  }

  #row(change: (text: string) => string): void {
    const { rows, row } = this.#buffer;
    rows[row] = change(rows[row] ?? '');
  }
}
