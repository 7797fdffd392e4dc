/** Whether a failure is the store's being away or busy, which passes, rather than a defect. */

/**
 * Too many connections, starting, stopping, a statement that took too long, out of memory or disk, and transactions that
 * ended one another; a database that takes no connections, or is not there: it is being restored.
 */
const passing = /^(?:08|53|57|40001|40P01|55000|3D000)/;
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EPIPE',
]);

/** The database's, the driver's and the Redis client's words for it. */
const passingWords =
  /connection terminated|timeout exceeded when trying to connect|connection error|query read timeout|command timed out|max retries per request|connection is closed|stream isn't writeable/i;

export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    (/^[0-9A-Z]{5}$/.test(code) && passing.test(code)) ||
    networkCodes.has(code) ||
    passingWords.test(error.message)
  );
}

/** What PostgreSQL says of a value that it cannot hold, such as a character that the database's encoding lacks. */
export function isBadValue(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^22[0-9A-Z]{3}$/.test(error.code)
  );
}
