/** The page of pictures: the questions of a notebook, each with its statement, the store's answer and the picture. */

import { withAnswers } from './answers.ts';

export interface Cell {
  readonly id: string;
  readonly cell_type: string;
  readonly source: readonly string[];
  readonly outputs?: ReadonlyArray<{
    readonly output_type: string;
    readonly text?: readonly string[] | string;
    readonly data?: Readonly<Record<string, unknown>>;
  }>;
}
export interface Notebook {
  readonly cells: readonly Cell[];
}

export interface Picture {
  /** Below docs/, as is the page. */
  readonly path: string;
  readonly png: Buffer;
  /** A heading and a paragraph. */
  readonly question: string;
  readonly sql: string;
  /** What the notebook prints below the picture. */
  readonly said: string;
}

export const sourceOf = ({ source }: Cell) => [source].flat().join('');
export const textOf = ({ outputs = [] }: Cell) => outputs.flatMap(({ text = [] }) => [text].flat()).join('');
export const pngsOf = ({ outputs = [] }: Cell) =>
  outputs.flatMap(({ data }) => (typeof data?.['image/png'] === 'string' ? [data['image/png']] : []));

/** A cell with a picture has one statement; the cell before it has the question. */
export function picturesOf({ cells }: Notebook): Picture[] {
  return cells.flatMap((cell, place) => {
    const [png] = pngsOf(cell);
    const question = cells[place - 1];
    if (png === undefined || question === undefined) return [];
    const sql = /ask\('''\n(.*?)'''/s.exec(sourceOf(cell))?.[1] ?? '';
    const path = `images/${cell.id}.png`;
    return { path, png: Buffer.from(png, 'base64'), question: sourceOf(question), sql, said: textOf(cell) };
  });
}

/** @param url of a store that the notebook was run on. */
export async function pageOf(pictures: readonly Picture[], url: string): Promise<string> {
  const parts = pictures.map(({ path, question, sql, said }) => {
    const [, about] = /^## \d+\. (.*)$/m.exec(question) ?? [];
    const below = said.trimEnd().replaceAll('\n', '  \n');
    return `${question}\n\n\`\`\`sql\n${sql}\`\`\`\n\n![${about}](${path})\n\n${below}\n`;
  });
  const page = `# Ten questions in pictures

Each picture is the answer of one statement. The [notebook](notebooks/ten-questions.ipynb) draws them, and runs beside
\`npx tidemark demo\` too; [cookbook.md](cookbook.md) has more questions, and [sql.md](sql.md) describes each view and
function.

**The data is synthetic**: it is the simulator's year 2024, with a week of ethereum that could not be fetched and one
hour that the service changed later. \`npm run docs\` runs the notebook and makes this page of it. A test compares the
page with the notebook, its pictures, and the answers of its statements, of which it shows the first rows and the last.

Statements run on other stores too. 8 and 9 need a tracked perpetual that is settled in tether, 9 the funding of Binance's bitcoin.

${parts.join('\n')}`;
  return withAnswers(page, url, { most: 4, notices: false });
}
