/** The database server for a test run, and where it comes from. */

import pg from 'pg';

export interface DatabasePart {
  readonly url: string;
  readonly server: string;
  /** The version that `create extension timescaledb` would create, or null. */
  readonly timescale: string | null;
  readonly how: string;
  stop(): Promise<void>;
}

export async function describeServer(url: string): Promise<{ server: string; timescale: string | null }> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  await client.connect();
  try {
    const { rows } = await client.query<{ server: string; available: string | null; preloaded: boolean }>(`
      select split_part(current_setting('server_version'), ' ', 1) as server,
             (select default_version from pg_available_extensions where name = 'timescaledb') as available,
             current_setting('shared_preload_libraries') ~ 'timescaledb' as preloaded`);
    const row = rows[0];
    // An extension that is installed but not preloaded cannot be created.
    return { server: `PostgreSQL ${row?.server}`, timescale: row?.preloaded ? row.available : null };
  } finally {
    await client.end();
  }
}
