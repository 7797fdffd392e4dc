/**
 * Every error that a user can meet: a stable code, the exit code, and the remedy. `docs/errors.md` explains each.
 */

/** Exit codes of every command. */
export const exitCodes = Object.freeze({
  ok: 0,
  /** A defect of Tidemark's own. */
  unexpected: 1,
  /** An argument or a configuration variable is wrong; nothing was done. */
  usage: 2,
  /** The work ended, and something is still missing. */
  incomplete: 3,
  source: 4,
  database: 5,
  queue: 6,
  /** The work was done, and what is stored is not what the source gives. */
  different: 7,
  /** A file could not be written, or is not what it should be. */
  file: 8,
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
  PORT_IN_USE: { exit: exitCodes.usage, remedy: 'choose another with --port, or stop what listens there' },
  GAPS_REMAIN: { exit: exitCodes.incomplete, remedy: 'run the same command again; `tidemark gaps` says why' },
  WINDOWS_UNANSWERED: {
    exit: exitCodes.incomplete,
    remedy: 'run the same command again later; `select * from tidemark.fetches` has each request',
  },
  DIFFERENCES_FOUND: {
    exit: exitCodes.different,
    remedy: '`tidemark repair` asks for them again; `select * from tidemark.differences` lists them',
  },
  DIFFERENCES_REMAIN: {
    exit: exitCodes.different,
    remedy: 'what the source no longer has is never dropped; `select * from tidemark.differences` lists it',
  },
  RANGE_HAS_GAPS: {
    exit: exitCodes.incomplete,
    remedy: '`tidemark backfill` fills them; --allow-gaps exports what there is, and states them',
  },
  ROWS_REFUSED: {
    exit: exitCodes.incomplete,
    remedy: '`select * from tidemark.quarantine` has each with its reason; their periods are not covered',
  },
  IMPORT_DIFFERS: {
    exit: exitCodes.different,
    remedy: "what is stored was kept; --overwrite takes the file's values and keeps the others as revisions",
  },
  MOVE_DIFFERS: {
    exit: exitCodes.different,
    remedy: 'nothing was moved; look for a trigger or a rule on that table of either database',
  },
  FILE_NOT_WRITTEN: {
    exit: exitCodes.file,
    remedy: 'make room or name another place; nothing half written is left',
  },
  FILE_NOT_USABLE: { exit: exitCodes.file, remedy: 'export it anew; nothing of it was stored' },
  INTERRUPTED: {
    exit: exitCodes.interrupted,
    remedy: 'run the same command again: it resumes from what is stored',
  },
  SOURCE_UNREACHABLE: { exit: exitCodes.source, remedy: 'check SOURCE_URL and the network' },
  SOURCE_NOT_A_MARKET_DATA_SERVICE: {
    exit: exitCodes.source,
    remedy:
      'SOURCE_URL must be the base address of a Market Data Service, ending in /v2; if it is, the source is in trouble: try again later',
  },
  SOURCE_REFUSED: { exit: exitCodes.source, remedy: 'check the series and the API key' },
  SOURCE_NOTICE: {
    exit: exitCodes.source,
    remedy: 'read what the source says; what is stored stays, and the same command again tries again',
  },
  UNKNOWN_AT_SOURCE: {
    exit: exitCodes.source,
    remedy:
      'check the ids (they are lower-case words, such as bitcoin), then `tidemark untrack` the wrong one',
  },
  LIST_NOT_POLLED: {
    exit: exitCodes.source,
    remedy: 'run the same command again later, or name what is meant without patterns; nothing was changed',
  },
  DATABASE_UNREACHABLE: { exit: exitCodes.database, remedy: 'check DATABASE_URL, and that the server runs' },
  DATABASE_REFUSED: {
    exit: exitCodes.database,
    remedy: 'use a role that owns the database, or grant it what the cause names',
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
      "install the version that the database was made with, and have `timescaledb` in the server's shared_preload_libraries",
  },
  DATABASE_FULL: {
    exit: exitCodes.database,
    remedy: 'free disk space; the work resumes from what is stored',
  },
  VIEW_IN_THE_WAY: {
    exit: exitCodes.database,
    remedy: 'drop it, run the same command again, and then create it anew where it still fits',
  },
  DATABASE_IN_USE: {
    exit: exitCodes.database,
    remedy: 'stop it first, on every machine that uses this database',
  },
  TARGET_NOT_EMPTY: {
    exit: exitCodes.database,
    remedy:
      'name a database that was migrated and not used; `tidemark migrate down --yes`, then `migrate`, empties one',
  },
  MIGRATION_RUNNING: { exit: exitCodes.database, remedy: 'wait for the other migration to end' },
  EMBEDDED_DATABASE: { exit: exitCodes.database, remedy: 'see .tidemark/postgres.log, or set DATABASE_URL' },
  NOT_RUNNING: { exit: exitCodes.queue, remedy: 'start it: `tidemark run`, or scheduler and worker' },
  QUEUE_UNREACHABLE: { exit: exitCodes.queue, remedy: 'check REDIS_URL, and that the server runs' },
} satisfies Record<string, ErrorEntry>);

export type ErrorCode = keyof typeof errorTable;

/** An error with a cause that a user can do something about. Prints as one line. */
export class TidemarkError extends Error {
  readonly code: ErrorCode;
  readonly remedy: string;
  readonly exitCode: number;

  /** @param message the cause, with the offending name and value; @param remedy replaces the table's. */
  constructor(code: ErrorCode, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'TidemarkError';
    this.code = code;
    this.remedy = options.remedy ?? errorTable[code].remedy;
    this.exitCode = errorTable[code].exit;
  }
}
