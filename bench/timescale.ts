/** Runs at once the TimescaleDB jobs that otherwise run within the hour. */

import type pg from 'pg';

/** Moves every chunk that is old enough to the columnstore. */
export async function runColumnstorePolicy(client: pg.Client, name: string): Promise<void> {
  const jobs = await client.query<{ id: number }>(
    `select job_id as id from timescaledb_information.jobs
     where proc_name = 'policy_compression' and hypertable_schema = 'tidemark' and hypertable_name = $1`,
    [name],
  );
  for (const { id } of jobs.rows) await client.query(`call run_job(${id})`);
}
