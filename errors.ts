/**
 * Every error that a user can see: a stable code, the exit code, and the remedy. `docs/errors.md` explains each.
 */

/** Exit codes of every command. */
export const exitCodes = Object.freeze({
  ok: 0,
  /** A defect in Tidemark. */
  unexpected: 1,
  /** An argument or a configuration variable is invalid. Nothing was done. */
  usage: 2,
  /** The work ended with missing ranges. */
  incomplete: 3,
  source: 4,
  database: 5,
  queue: 6,
  /** The work ended, and stored points differ from the source's. */
  different: 7,
  /** A file could not be written, or is invalid. */
  file: 8,
  /** The work ended, and an empty answer needs a second one to confirm it. */
  awaiting: 9,
  /** The work ended, and rows of the source's answers were rejected. */
  rejected: 10,
  /** Stopped by Ctrl-C before the work was complete. */
  interrupted: 130,
});

interface ErrorEntry {
  readonly exit: number;
  readonly remedy: string;
}

export const errorTable = Object.freeze({
  BAD_ARGUMENT: { exit: exitCodes.usage, remedy: 'see --help of the command' },
  BAD_CONFIGURATION: { exit: exitCodes.usage, remedy: 'correct the variable; .env.example lists them all' },
  BAD_WATCH_LIST: { exit: exitCodes.usage, remedy: 'correct the file; nothing was changed' },
  UNKNOWN_SERIES: { exit: exitCodes.usage, remedy: '`tidemark status` lists the series and their ids' },
  UNKNOWN_KEY: { exit: exitCodes.usage, remedy: '`tidemark keys list` shows the keys and their ids' },
  PORT_IN_USE: {
    exit: exitCodes.usage,
    remedy: 'choose another port with --port, or stop the program that listens there',
  },
  GAPS_REMAIN: {
    exit: exitCodes.incomplete,
    remedy: 'run the same command again; `tidemark gaps` gives the reasons',
  },
  AWAITS_SECOND_ANSWER: {
    exit: exitCodes.awaiting,
    remedy: 'run the same command again then, or with --wait; --accept-empty accepts a single empty answer',
  },
  ROWS_REJECTED: {
    exit: exitCodes.rejected,
    remedy:
      '`select * from tidemark.quarantine` shows each row and its reason; `verify --all` and `repair` request their periods again; --accept-rejected accepts them',
  },
  WINDOWS_UNANSWERED: {
    exit: exitCodes.incomplete,
    remedy: 'run the same command again later; `select * from tidemark.fetches` lists each request',
  },
  DIFFERENCES_FOUND: {
    exit: exitCodes.different,
    remedy: '`tidemark repair` requests them again; `select * from tidemark.differences` lists them',
  },
  DIFFERENCES_REMAIN: {
    exit: exitCodes.different,
    remedy:
      'points that the source no longer has are never deleted; `select * from tidemark.differences` lists them',
  },
  RANGE_HAS_GAPS: {
    exit: exitCodes.incomplete,
    remedy:
      '`tidemark backfill` fills them, with --wait also those that await a second answer; --allow-gaps exports the stored points and lists the gaps',
  },
  ROWS_REFUSED: {
    exit: exitCodes.incomplete,
    remedy:
      '`select * from tidemark.quarantine` lists each row with its reason; their periods are not covered',
  },
  IMPORT_DIFFERS: {
    exit: exitCodes.different,
    remedy:
      "stored values were kept; --overwrite stores the file's values and keeps the old ones as revisions",
  },
  MOVE_DIFFERS: {
    exit: exitCodes.different,
    remedy: 'nothing was moved; look for a trigger or a rule on that table in either database',
  },
  FILE_NOT_WRITTEN: {
    exit: exitCodes.file,
    remedy: 'free disk space or choose another path; no partial file is left',
  },
  FILE_NOT_USABLE: {
    exit: exitCodes.file,
    remedy: 'export it again; an incomplete series receives no coverage',
  },
  INTERRUPTED: {
    exit: exitCodes.interrupted,
    remedy: 'run the same command again: it resumes from the stored data',
  },
  SOURCE_UNREACHABLE: { exit: exitCodes.source, remedy: 'check SOURCE_URL and the network' },
  SOURCE_NOT_A_MARKET_DATA_SERVICE: {
    exit: exitCodes.source,
    remedy:
      'SOURCE_URL must be the base address of a Market Data Service, ending in /v2; if it is, the source is failing: try again later',
  },
  SOURCE_REFUSED: { exit: exitCodes.source, remedy: 'check the series and the API key' },
  SOURCE_NOTICE: {
    exit: exitCodes.source,
    remedy:
      'read the message of the source; stored data is kept, and the same command requests the rest again',
  },
  UNKNOWN_AT_SOURCE: {
    exit: exitCodes.source,
    remedy:
      'check the ids (they are lower-case words, such as bitcoin), then `tidemark untrack` the wrong one',
  },
  LIST_NOT_POLLED: {
    exit: exitCodes.source,
    remedy: 'run the same command again later, or write the entries without patterns; nothing was changed',
  },
  DATABASE_UNREACHABLE: { exit: exitCodes.database, remedy: 'check DATABASE_URL, and that the server runs' },
  DATABASE_REFUSED: {
    exit: exitCodes.database,
    remedy: 'use the role that owns the database, or grant the right that the cause names',
  },
  DATABASE_NOT_MIGRATED: { exit: exitCodes.database, remedy: 'run `tidemark migrate`' },
  DATABASE_TOO_OLD: { exit: exitCodes.database, remedy: 'use PostgreSQL 15 to 18' },
  TIMESCALE_TOO_OLD: {
    exit: exitCodes.database,
    remedy:
      "upgrade the server's TimescaleDB package to 2.28 or newer, then `alter extension timescaledb update`",
  },
  TIMESCALE_NOT_LOADED: {
    exit: exitCodes.database,
    remedy:
      "install the version that the database was created with, and add `timescaledb` to the server's shared_preload_libraries",
  },
  DATABASE_LOCKED: {
    exit: exitCodes.database,
    remedy:
      'run the same command again; `select pid, query from pg_stat_activity where pid in (select unnest(pg_blocking_pids(w.pid)) from pg_stat_activity w)` shows the queries that hold locks',
  },
  DATABASE_FULL: {
    exit: exitCodes.database,
    remedy: 'free disk space; the work resumes from the stored data',
  },
  VIEW_IN_THE_WAY: {
    exit: exitCodes.database,
    remedy: 'drop it, run the same command again, and recreate it if it still fits',
  },
  DATABASE_IN_USE: {
    exit: exitCodes.database,
    remedy: 'stop it first, on every machine that uses this database',
  },
  TARGET_NOT_EMPTY: {
    exit: exitCodes.database,
    remedy: 'name a migrated, unused database; `tidemark migrate down --yes`, then `migrate`, empties one',
  },
  MIGRATION_RUNNING: { exit: exitCodes.database, remedy: 'wait for the other migration to end' },
  EMBEDDED_DATABASE: { exit: exitCodes.database, remedy: 'see .tidemark/postgres.log, or set DATABASE_URL' },
  NOT_RUNNING: { exit: exitCodes.queue, remedy: 'start it: `tidemark run`, or scheduler and worker' },
  QUEUE_UNREACHABLE: { exit: exitCodes.queue, remedy: 'check REDIS_URL, and that the server runs' },
} satisfies Record<string, ErrorEntry>);

export type ErrorCode = keyof typeof errorTable;

/** An error with a cause that a user can remove. Prints as one line. */
export class TidemarkError extends Error {
  readonly code: ErrorCode;
  readonly remedy: string;
  readonly exitCode: number;

  /** @param message the cause, with the invalid name and value; `options.remedy` replaces the table's remedy. */
  constructor(code: ErrorCode, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'TidemarkError';
    this.code = code;
    this.remedy = options.remedy ?? errorTable[code].remedy;
    this.exitCode = errorTable[code].exit;
  }
}
