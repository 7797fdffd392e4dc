/** The database server for a test run, and where it comes from. */

import pg from 'pg';

export interface DatabasePart {
  readonly url: string;
  /** Such as `PostgreSQL 15.8`. */
  readonly server: string;
  /** The version that `create extension timescaledb` would create, or null. */
  readonly timescale: string | null;
  /** Where it comes from, in a few words. */
  readonly how: string;
  stop(): Promise<void>;
}

/** Reads the versions of the server at `url`. @throws Error of `pg` when it is unreachable. */
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
