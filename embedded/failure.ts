import { statfsSync } from 'node:fs';
import { TidemarkError } from '../errors.ts';

/**
 * Turns the output of PostgreSQL's programs into one line with a remedy.
 * @param doing the failed step, such as `PostgreSQL did not start`.
 */
export function explainOutput(printed: string, doing: string, directory: string): TidemarkError {
  // The log is on the same disk, so a full disk may not hold the reason. A start needs a new WAL file of 16 MB.
  if (/No space left on device|Disk quota exceeded/.test(printed) || freeBytes(directory) < 16 * 1024 * 1024) {
    return new TidemarkError('DATABASE_FULL', `${doing}: the disk that holds ${directory} is full`);
  }
  const lines = printed.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.findLast((line) => /\b(FATAL|PANIC|error):/.test(line)) ?? lines.at(-1) ?? 'it gave no reason';
  // A log line begins with the time and the process.
  const reason = telling.replace(/^.*?\b(FATAL|PANIC|error):\s*/, '').trim();
  if (/incompatible with server/.test(reason)) {
    return new TidemarkError(
      'EMBEDDED_DATABASE',
      `${doing}: ${directory} was created by another version of PostgreSQL`,
      { remedy: 'use the version of Tidemark that created it, or another directory, or set DATABASE_URL' },
    );
  }
  return new TidemarkError('EMBEDDED_DATABASE', `${doing}: ${reason}`);
}

/** Turns a file system error into one line with a remedy; returns any other error unchanged. */
export function explainFileError(error: unknown, directory: string): unknown {
  if (!(error instanceof Error) || error instanceof TidemarkError || !('syscall' in error)) return error;
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) {
    return new TidemarkError('DATABASE_FULL', `the disk that holds ${directory} is full`, { cause: error });
  }
  return new TidemarkError('EMBEDDED_DATABASE', `the directory of the database cannot be used: ${error.message}`, {
    cause: error,
    remedy: `give this user write permission to ${directory}, or set DATABASE_URL`,
  });
}

/** Two segments of the write-ahead log, and room for the shutdown. A server with a full disk cannot start again. */
const minFreeBytes = 48 * 1024 * 1024;

/** @throws TidemarkError DATABASE_FULL while there is still room for a clean shutdown. */
export function assertFreeSpace(directory: string): void {
  const bytes = freeBytes(directory);
  if (bytes >= minFreeBytes) return;
  const message = `the disk that holds ${directory} has ${Math.floor(bytes / 1024 / 1024)} MB left`;
  throw new TidemarkError('DATABASE_FULL', message);
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
