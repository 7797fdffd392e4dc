/** What the run's set-up hands to every test through `inject`. */

export interface ProvidedParts {
  /** A database server's address, as a role that may create databases. Use `createTestDatabase`, not this. */
  databaseUrl: string;
  /** Whether that server can `create extension timescaledb`. */
  hasTimescale: boolean;
  /** A server without the extension; the same one where there is no other; null when none can run here. */
  plainDatabaseUrl: string | null;
  redisUrl: string | null;
  /** A browser's program; null where there is none. */
  chromiumPath: string | null;
  /** Why a part is absent, in a few words; the empty string when it is there. */
  absent: { timescale: string; plainPostgres: string; redis: string; chromium: string };
  /** Whether what tests write into docs/ is to be written anew: `--update`. */
  updatesDocs: boolean;
  /** What the tests ran against, for the last lines of the run. */
  partsReport: string[];
}

declare module 'vitest' {
  interface ProvidedContext extends ProvidedParts {}
}
