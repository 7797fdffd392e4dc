/** Every error that a user can see: a stable code, the exit code, and the remedy. `docs/errors.md` explains each. */

/** Exit codes of every command. */
export const exitCodes = Object.freeze({
  ok: 0,
  /** A defect in Tidemark. */
  unexpected: 1,
  /** An argument or a configuration variable is invalid. Nothing was done. */
  usage: 2,
  /** The work ended with missing ranges, or refused the rows of a file. */
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
  /** A message was not delivered. */
  undelivered: 11,
  /** Stopped by Ctrl-C, or cancelled, before the work was complete. */
  interrupted: 130,
});

/** Codes with their remedies, and the exit code that they share. */
function entries<Code extends string>(exit: number, remedies: Readonly<Record<Code, string>>) {
  const all = Object.entries<string>(remedies).map(([code, remedy]) => [code, { exit, remedy }]);
  return Object.fromEntries(all) as Record<Code, { readonly exit: number; readonly remedy: string }>;
}

export const errorTable = Object.freeze({
  ...entries(exitCodes.usage, {
    // The cause says what is valid.
    BAD_ARGUMENT: '',
    BAD_CONFIGURATION: 'correct the variable; .env.example lists them all',
    BAD_WATCH_LIST: 'correct the file; nothing was changed',
    UNKNOWN_SERIES: '`tidemark status` lists the series and their ids',
    UNKNOWN_KEY: '`tidemark keys list` shows the keys and their ids',
    UNKNOWN_BACKFILL: '`tidemark backfills` lists them with their ids',
    PORT_IN_USE: 'choose another port, or stop the program that listens there',
  }),
  ...entries(exitCodes.incomplete, {
    GAPS_REMAIN: 'run the same command again; `tidemark gaps` gives the reasons',
    WINDOWS_UNANSWERED: 'run the same command again later; `select * from tidemark.fetches` lists each request',
    RANGE_HAS_GAPS:
      '`tidemark gaps` says why: `tidemark backfill` fills what a source still has, with --wait also what ' +
      'came back empty once; --allow-gaps exports the stored points and lists the gaps',
    VALUES_TOO_LONG: 'write a lake with other --decimals, or with --decimals text, into another directory',
    ROWS_REFUSED:
      '`select * from tidemark.quarantine` lists each row with its reason; a period of theirs without a stored point ' +
      'is not known',
  }),
  ...entries(exitCodes.undelivered, { NOT_DELIVERED: 'correct `notify` of the watch list, or its variables' }),
  ...entries(exitCodes.awaiting, {
    AWAITS_SECOND_ANSWER:
      'run the same command again then, or with --wait; --accept-empty accepts a single empty answer',
  }),
  ...entries(exitCodes.rejected, {
    ROWS_REJECTED:
      '`select * from tidemark.quarantine` shows each row and its reason; `verify --all` and `repair` request ' +
      'their periods again; --accept-rejected accepts them',
  }),
  ...entries(exitCodes.different, {
    DIFFERENCES_FOUND: '`tidemark repair` requests them again; `select * from tidemark.differences` lists them',
    DIFFERENCES_REMAIN:
      '`select * from tidemark.differences` lists them; `tidemark repair --remove-absent` removes them, and keeps ' +
      'their values as revisions',
    IMPORT_DIFFERS: "stored values were kept; --overwrite stores the file's values and keeps the old ones as revisions",
    MOVE_DIFFERS: 'nothing was moved; look for a trigger or a rule on that table in either database',
  }),
  ...entries(exitCodes.file, {
    FILE_NOT_WRITTEN: 'free disk space or choose another path; no partial file is left',
    FILE_NOT_USABLE: 'check that it is the file that you mean, and that it is whole',
  }),
  ...entries(exitCodes.interrupted, {
    INTERRUPTED: 'run the same command again: it resumes from the stored data',
    CANCELLED: '`tidemark backfills` says by whom; the same command begins it again, from the stored data',
  }),
  ...entries(exitCodes.source, {
    SOURCE_UNREACHABLE: 'check SOURCE_URL and the network',
    SOURCE_UNUSABLE: 'run the same command again later; if it stays so, check the address of the source',
    SOURCE_NOT_A_MARKET_DATA_SERVICE:
      'SOURCE_URL must be the base address of a Market Data Service, ending in /v2; if it is, the source is ' +
      'failing: try again later',
    SOURCE_REFUSED: 'check the series, the API key, and whether the source serves this country',
    SOURCE_NOTICE: 'read the message of the source; stored data is kept, and the same command requests the rest again',
    UNKNOWN_AT_SOURCE: 'check the ids (they are lower-case words, such as bitcoin)',
    LIST_NOT_POLLED: 'run the same command again later, or write the entries without patterns; nothing was changed',
  }),
  ...entries(exitCodes.database, {
    DATABASE_UNREACHABLE: 'check DATABASE_URL, and that the server runs',
    DATABASE_REFUSED: 'use the role that owns the database, or grant the right that the cause names',
    DATABASE_NOT_MIGRATED: 'run `tidemark migrate`',
    NO_DATABASE: '`tidemark run` or `tidemark backfill` makes one here; DATABASE_URL names another',
    DATABASE_TOO_OLD: 'use PostgreSQL 15 to 18',
    TIMESCALE_TOO_OLD:
      "upgrade the server's TimescaleDB package to 2.28 or newer, then `alter extension timescaledb update`",
    TIMESCALE_NOT_LOADED:
      "install the version that the database was created with, and add `timescaledb` to the server's " +
      'shared_preload_libraries',
    TIMESCALE_UNKNOWN: 'upgrade Tidemark; data are safe, and requests go on meanwhile',
    DATABASE_LOCKED:
      'run the same command again; `select pid, query from pg_stat_activity where pid in (select ' +
      'unnest(pg_blocking_pids(w.pid)) from pg_stat_activity w)` shows the queries that hold locks',
    DATABASE_FULL: 'free disk space; the work resumes from the stored data',
    VIEW_IN_THE_WAY:
      'nothing was changed; save its definition (`pg_get_viewdef`), drop it, run the same command again, and ' +
      'create it again',
    DATABASE_IN_USE: 'stop it first, on every machine that uses this database',
    TARGET_NOT_EMPTY: 'name a new, empty database, and run `tidemark migrate` there first; nothing was moved',
    MIGRATION_RUNNING: 'wait for the other migration to end',
    EMBEDDED_DATABASE: 'see .tidemark/postgres.log, or set DATABASE_URL',
  }),
  ...entries(exitCodes.queue, {
    PAUSED: '`tidemark resume` goes on',
    NOT_RUNNING: 'start it: `tidemark run`, or scheduler and worker',
    QUEUE_UNREACHABLE: 'check REDIS_URL, and that the server runs',
  }),
});

export type ErrorCode = keyof typeof errorTable;

/** @returns the error with the remedy for the embedded database, in place of the one that names DATABASE_URL. */
export function aboutEmbedded(error: unknown, directory: string): unknown {
  const { remedy } = errorTable.DATABASE_UNREACHABLE;
  if (!(error instanceof TidemarkError && error.code === 'DATABASE_UNREACHABLE' && error.remedy === remedy))
    return error;
  return new TidemarkError(error.code, error.message, {
    cause: error,
    remedy:
      `it is the embedded database in ${directory}: run the same command again, and read postgres.log ` +
      'there if it ' +
      'fails again',
  });
}

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

/** What an invalid argument causes. @param remedy replaces the table's. */
export function badArgument(message: string, remedy?: string): TidemarkError {
  return new TidemarkError('BAD_ARGUMENT', message, remedy === undefined ? {} : { remedy });
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of an error of the system or of PostgreSQL; undefined: it has none. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Anything that was thrown, as an error. */
export function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/**
 * The first of several errors, as where several addresses were tried: the one around them has no code, and often no
 * message.
 */
export function firstError(error: unknown): unknown {
  return error instanceof AggregateError && error.errors.length > 0 ? firstError(error.errors[0]) : error;
}
