/** Logs: pino, JSON lines on standard error, with credentials redacted. */

import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogLevel } from './config.ts';
import { hidden, secretField, withoutCredentials } from './redaction.ts';

/** @param stream where the lines go; absent: standard error, so that standard output holds only results. */
export function createLog(level: LogLevel, stream: DestinationStream = process.stderr): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void stream.write(redactedLine(line)) },
  );
}

function redactedLine(line: string): string {
  const clean: unknown = JSON.parse(line, (name, value: unknown) =>
    secretField.test(name) ? hidden : typeof value === 'string' ? withoutCredentials(value) : value,
  );
  return `${JSON.stringify(clean)}\n`;
}
