import { expect, it } from 'vitest';
import { useStore } from '../../store/open-store.ts';

const store = useStore();
const now = '$1, make_interval(secs => $2 / 1000)';

it.each([
  `select id, missing from tidemark.closed_series(${now}) where id = any ($3)`,
  `select * from tidemark.measured_series(${now}, $3)`,
  `select * from tidemark.gap_pieces(${now}, $3, true)`,
  `select (select r.ranges from tidemark.rejected_ranges(s.id, s.dataset, s.period, $1, $1) r)
   from tidemark.series s where $2 > 0 and s.id = any ($3)`,
  'select * from public.coverage where $1 < now() and $2 > 0 and series_id = any ($3)',
  'select * from public.gaps where $1 < now() and $2 > 0 and series_id = any ($3)',
])('PostgreSQL replaces shared functions by their bodies in %s', async (statement) => {
  const { pool } = store.database;
  const client = await pool.connect();
  try {
    await client.query('set plan_cache_mode = force_generic_plan');
    await client.query(`prepare one (timestamptz, double precision, integer[]) as ${statement}`);
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain execute one (now(), 60000, '{1}')`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Scan using series_pkey on series|Seq Scan on series/);
    expect(plan).not.toMatch(/Function Scan on (?!unnest|generate_series)|SubPlan.*rejected_ranges/);
  } finally {
    client.release(true);
  }
});
