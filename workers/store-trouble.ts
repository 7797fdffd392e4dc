/** Whether a failed commit is the database's state or the answer's content. */

/**
 * SQLSTATE classes that pass by themselves or when someone acts, whatever is written: connection (08), resources
 * such as a full disk (53), intervention and shutdown (57), system (58), serialization and deadlock (40), and a
 * lock that was not to be had (55).
 */
const passingClasses = ['08', '40', '53', '55', '57', '58'];
/** TimescaleDB's limit on tuples decompressed in a transaction, which is a setting: the same answer meets it again. */
const settingsLimit = '53400';

/**
 * A statement that took too long, or that someone cancelled, is of class 57, and still the window's own: one that can
 * never be stored in time would otherwise be fetched again for ever.
 */
const cancelled = '57014';

export interface StoreTrouble {
  /** The same answer could be stored at another time. Anything else is taken to fail again. */
  readonly passes: boolean;
  readonly message: string;
}

export function storeTroubleOf(error: unknown): StoreTrouble {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // PostgreSQL's classes begin with a digit or one of these letters; EPIPE has five characters too.
  if (/^[0-9FHPX][0-9A-Z]{4}$/.test(code))
    return {
      passes: ![cancelled, settingsLimit].includes(code) && passingClasses.includes(code.slice(0, 2)),
      message,
    };
  // Without an SQLSTATE it came from the connection, from a pool that had none to give, or is a defect.
  const fromConnection = /^E[A-Z]+$/.test(code) || /connect|timeout|terminat|pool/i.test(message);
  return { passes: fromConnection, message };
}
