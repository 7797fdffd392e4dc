/** Puts the answers of a database into a document with SQL: psql's output, in plain text. */

import pg from 'pg';
import { table } from '../../scripts/output/table.ts';

/** An ```sql block, and the ```text block with its answer. */
const example = /```sql\n(.*?)```\n(?:\n```text\n.*?```\n)?/gs;

interface Shown {
  /** Rows of an answer; of a longer one only the first ones and the last one. */
  readonly most?: number;
  readonly notices?: boolean;
}

/** The document with an answer after every statement. */
export async function withAnswers(
  document: string,
  url: string,
  { most = Number.POSITIVE_INFINITY, notices = true }: Shown = {},
): Promise<string> {
  const client = new pg.Client({
    connectionString: url,
    options: '-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres',
    types: { getTypeParser: () => (text: string | Buffer) => text },
  });
  const told: string[] = [];
  if (notices) client.on('notice', (notice) => told.push(...lines('NOTICE', notice)));
  await client.connect();
  try {
    const parts: string[] = [];
    let done = 0;
    for (const match of document.matchAll(example)) {
      const [block, sql = ''] = match;
      const answer = await answerOf(client, sql, most);
      parts.push(document.slice(done, match.index), `\`\`\`sql\n${sql}\`\`\`\n\n\`\`\`text\n`);
      parts.push([...told.splice(0), ...answer].join('\n'), '\n```\n');
      done = match.index + block.length;
    }
    return parts.join('') + document.slice(done);
  } finally {
    await client.end();
  }
}

async function answerOf(client: pg.Client, sql: string, most: number): Promise<string[]> {
  try {
    const result = await client.query<Record<string, string | null>>(sql);
    const columns = result.fields.map(({ name, dataTypeID }) => ({
      title: name,
      right: numbers.has(dataTypeID),
      value: (row: Record<string, string | null>) => row[name] ?? '',
    }));
    return result.rows.length > most ? shortened(table(columns, result.rows), most) : [table(columns, result.rows)];
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    return lines('ERROR', error);
  }
}

/** The heading, the first rows and the last one, together `most`, and the number of all. */
function shortened(whole: string, most: number): string[] {
  const rows = whole.split('\n');
  return [...rows.slice(0, most), '...', ...rows.slice(-1), `(${rows.length - 1} rows)`];
}

const { INT2, INT4, INT8, NUMERIC } = pg.types.builtins;
const numbers = new Set<number>([INT2, INT4, INT8, NUMERIC]);

function lines(
  severity: string,
  { message, detail, hint }: { message?: string | undefined; detail?: string | undefined; hint?: string | undefined },
): string[] {
  return [
    `${severity}: ${message}`,
    ...(detail === undefined ? [] : [`DETAIL: ${detail}`]),
    ...(hint === undefined ? [] : [`HINT: ${hint}`]),
  ];
}
