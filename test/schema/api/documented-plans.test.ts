import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadSyntheticYear } from '../../docs/synthetic-year.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { useStore } from '../../store/open-store.ts';
import { nodesOf, type PlanNode } from '../../store/plan.ts';

const statements = ['sql', 'cookbook'].flatMap((name) =>
  [...readFileSync(`docs/${name}.md`, 'utf8').matchAll(/```sql\n([^`]+)```/g)].map(([, sql = '']) => sql),
);

interface Explained {
  readonly 'Query Text': string;
  readonly Plan: PlanNode;
  readonly JIT?: unknown;
}

const conditions = ['Filter', 'Index Cond', 'Join Filter', 'One-Time Filter', 'Vectorized Filter'];
const functionsOfNames = /\b(?:series_id|stored_or_zero|market_line|asset_line|line_of)\(/;

/** A year whose older chunks are in the columnstore, with a changed row in each: those are read as two parts. */
describeNeeding('timescale', 'the plans of the statements of docs/sql.md and docs/cookbook.md', () => {
  const store = useStore();
  let client: pg.Client;
  let notices: string[] = [];
  beforeAll(async () => {
    const { pool } = store.database;
    await loadSyntheticYear(store.database);
    await pool.query(
      `select compress_chunk(c) from show_chunks('tidemark.candle_points', older_than => '2024-12-27'::timestamptz) c`,
    );
    const changed = await pool.query(
      `update tidemark.candle_points set volume = volume
       where (series_id, time) in (select series_id, min(time) from tidemark.candle_points group by series_id,
                                   date_trunc('month', time))`,
    );
    expect(changed.rowCount).toBeGreaterThan(30);
    await pool.query('analyze');
    client = new pg.Client({ connectionString: store.url });
    client.on('notice', ({ message }) => notices.push(message ?? ''));
    await client.connect();
    // What costs nothing is used wherever it is allowed.
    await client.query(`load 'auto_explain'; set timezone = 'UTC'; set auto_explain.log_min_duration = 0;
      set auto_explain.log_nested_statements = on; set auto_explain.log_analyze = on; set auto_explain.log_timing = off;
      set auto_explain.log_format = json; set client_min_messages = log;
      set jit = on; set jit_above_cost = 0; set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
      set min_parallel_table_scan_size = 0; set min_parallel_index_scan_size = 0`);
  });
  afterAll(() => client.end());

  /** A statement of a document, its own plan, and those of the statements that its functions run. */
  let explained: { sql: string; own: Explained[]; ofFunctions: Explained[] }[];
  beforeAll(async () => {
    explained = [];
    for (const sql of statements) {
      notices = [];
      // Some statements show an error.
      await client.query(sql).catch((error) => expect(error).toBeInstanceOf(pg.DatabaseError));
      const plans = notices.flatMap((text) =>
        text.includes('plan:') ? [JSON.parse(text.slice(text.indexOf('{'))) as Explained] : [],
      );
      const isOwn = (plan: Explained) => sql.includes(plan['Query Text'].trim().replace(/;$/, ''));
      explained.push({ sql, own: plans.filter(isOwn), ofFunctions: plans.filter((plan) => !isOwn(plan)) });
    }
    expect(explained.filter(({ own }) => own.length > 0).length).toBeGreaterThan(60);
    expect(explained.filter(({ ofFunctions }) => ofFunctions.length > 0).length).toBeGreaterThan(30);
  });

  const nodes = ({ Plan }: Explained) => nodesOf(Plan) as unknown as Record<string, unknown>[];

  it('look up no name for a row', () => {
    const found = explained.flatMap(({ sql, own, ofFunctions }) =>
      [...own, ...ofFunctions]
        .flatMap(nodes)
        .flatMap((node) =>
          conditions.flatMap((name) =>
            functionsOfNames.test(String(node[name] ?? '')) ? [[sql, name, node[name]]] : [],
          ),
        ),
    );
    expect(found).toEqual([]);
  });

  it('start no process and compile nothing where a function reads points', () => {
    const readers = explained.flatMap(({ sql, ofFunctions }) =>
      ofFunctions.flatMap((plan) => (chunksOf(plan).length > 0 ? [{ sql, plan }] : [])),
    );
    expect(readers.length).toBeGreaterThan(40);
    const found = readers
      .filter(({ plan }) => plan.JIT !== undefined || nodes(plan).some((node) => 'Workers Planned' in node))
      .map(({ sql, plan }) => [sql, plan['Query Text']]);
    expect(found).toEqual([]);
  });

  it('read only chunks of the times that they name', async () => {
    const { rows } = await store.database.pool.query<{ name: string; beginsMs: number; endsMs: number }>(
      `select chunk_name as name, extract(epoch from range_start)::float8 * 1000 as "beginsMs",
              extract(epoch from range_end)::float8 * 1000 as "endsMs"
       from timescaledb_information.chunks where hypertable_name = 'candle_points'`,
    );
    const ranges = new Map(rows.map(({ name, ...range }) => [name, range]));
    const checked = explained.flatMap(({ sql, own, ofFunctions }) => {
      // Bounds from a row beside it are not known while planning.
      const times = [...sql.matchAll(/'(2024-\d\d-\d\d)(?: [\d:]+)?'/g)].map(([, day = '']) => Date.parse(day));
      if (times.length !== 2 || /generate_series|busiest/.test(sql)) return [];
      const [fromMs = 0, toMs = 0] = times;
      const read = [...own, ...ofFunctions].flatMap(chunksOf).flatMap((name) => {
        const range = ranges.get(name);
        return range === undefined ? [] : [{ name, ...range }];
      });
      const outside = read.filter(({ beginsMs, endsMs }) => beginsMs > toMs || endsMs < fromMs);
      return [{ sql, read: read.length, outside: outside.length }];
    });
    expect(checked.filter(({ read }) => read > 0).length).toBeGreaterThan(10);
    expect(checked.filter(({ outside }) => outside > 0)).toEqual([]);
  });
});

/** The chunks that a plan has read. */
const chunksOf = ({ Plan }: Explained) =>
  nodesOf(Plan).flatMap((node) =>
    node['Actual Loops'] > 0 && /^_hyper_/.test(node['Relation Name'] ?? '') ? [node['Relation Name'] ?? ''] : [],
  );
