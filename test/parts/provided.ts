/** The values that the set-up of the run provides to every test through `inject`. */

export interface ProvidedParts {
  /**
   * The address of a database server, with a role that may create databases. Use `createTestDatabase` instead of this.
   */
  databaseUrl: string;
  /** Whether `create extension timescaledb` works on that server. */
  hasTimescale: boolean;
  /** A server without the extension. The same server if there is no other; null when none can run here. */
  plainDatabaseUrl: string | null;
  /** The migrated database of each server, by the server's address. Use `createMigratedDatabase` instead of this. */
  templates: Readonly<Record<string, string>>;
  redisUrl: string | null;
  chromiumPath: string | null;
  /** The reason why a part is absent, in a few words. Empty when it is available. */
  absent: { timescale: string; plainPostgres: string; redis: string; chromium: string };
  /** Whether tests rewrite the texts in docs/ that they generate: `--update`. */
  updatesDocs: boolean;
  partsReport: string[];
}

declare module 'vitest' {
  interface ProvidedContext extends ProvidedParts {}
}
