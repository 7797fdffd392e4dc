/** The chunks of points that a query reads, by its plan. */

import type pg from 'pg';

interface Node {
  readonly 'Relation Name'?: string;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly Node[];
}

/** @returns the number of chunks read and in total. Chunks that the plan never executed do not count as read. */
export async function chunksRead(client: pg.Client, sql: string): Promise<{ read: number; of: number }> {
  const result = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `explain (analyze, timing off, format json) ${sql}`,
  );
  const plan = result.rows[0]?.['QUERY PLAN'][0].Plan;
  const executed = plan === undefined ? [] : relationsIn(plan);
  const chunks = await client.query<{ name: string }>(
    `select chunk_name as name from timescaledb_information.chunks
     where hypertable_schema = 'tidemark' and hypertable_name = 'candle_points'`,
  );
  const names = chunks.rows.map(({ name }) => name);
  return { read: names.filter((name) => executed.includes(name)).length, of: names.length };
}

function relationsIn(node: Node): string[] {
  if (node['Actual Loops'] === 0) return [];
  const own = node['Relation Name'];
  return [...(own === undefined ? [] : [own]), ...(node.Plans ?? []).flatMap(relationsIn)];
}
