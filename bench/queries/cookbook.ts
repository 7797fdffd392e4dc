/** The questions of docs/cookbook.md in a store of twenty million candles: each as it stands there. */

import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { table } from '../../scripts/output/table.ts';
import { load, type Size } from '../growth/load.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';

/** The year that the questions are about, and beside it series of other markets over the same year. */
const full: Size = { markets: 41, days: 347 };
const quick: Size = { markets: 4, days: 7 };

export interface Cookbook {
  readonly candles: number;
  readonly rounds: number;
  readonly measured: ReadonlyArray<{ readonly title: string; readonly rows: number; readonly ms: Spread }>;
}

/** The statements of each question. */
export function cookbookQuestions(): { title: string; statements: string[] }[] {
  const questions = readFileSync('docs/cookbook.md', 'utf8').split(/^## /m).slice(1);
  return questions.map((text) => ({
    title: text.slice(0, text.indexOf('\n')),
    statements: [...text.matchAll(/```sql\n(.*?)```/gs)].map(([, sql = '']) => sql),
  }));
}

/** @param url of an empty, migrated database. */
export async function measureCookbook(
  client: pg.Client,
  url: string,
  { isQuick, say }: { isQuick: boolean; say: (line: string) => void },
): Promise<Cookbook> {
  const rounds = isQuick ? 1 : 5;
  const { candles, database } = await load(client, url, isQuick ? quick : full, say);
  try {
    return { candles, rounds, measured: await measureQuestions(database.pool, rounds, say) };
  } finally {
    await database.close();
  }
}

/** One that takes longer than this is asked once. */
const longMs = 10_000;

export async function measureQuestions(
  pool: pg.Pool,
  rounds: number,
  say: (line: string) => void,
): Promise<Cookbook['measured']> {
  const measured: { title: string; rows: number; ms: Spread }[] = [];
  for (const { title, statements } of cookbookQuestions()) {
    const first = await answer(pool, statements);
    const times: number[] = first.ms > longMs ? [first.ms] : [];
    // The first round warms the caches, and does not count.
    while (first.ms <= longMs && times.length < rounds) times.push((await answer(pool, statements)).ms);
    measured.push({ title, rows: first.rows, ms: spreadOf(times) });
    say(`queries: cookbook ${title}: measured`);
  }
  return measured;
}

async function answer(pool: pg.Pool, statements: readonly string[]): Promise<{ rows: number; ms: number }> {
  const startedMs = performance.now();
  let rows = 0;
  for (const sql of statements) rows += (await pool.query(sql)).rows.length;
  return { rows, ms: performance.now() - startedMs };
}

export function cookbookText({ candles, rounds, measured }: Cookbook): string {
  return [
    `The cookbook, with ${figure(candles)} candles; ${rounds} rounds, milliseconds at the client, ` +
      'median (least to most)',
    table(
      [
        { title: '', value: ({ title }) => title },
        { title: 'rows', value: ({ rows }) => figure(rows), right: true },
        { title: 'ms', value: ({ ms }) => told(ms, 1), right: true },
      ],
      measured,
    ),
  ].join('\n');
}
