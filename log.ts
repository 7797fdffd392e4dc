/** Logs on standard error, with credentials redacted. Standard output holds only results. */

import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogLevel } from './config.ts';
import { hidden, secretField, withoutCredentials } from './redaction.ts';

/** Readable lines on a terminal, else JSON. `NO_COLOR` is respected. */
export async function openLog(level: LogLevel): Promise<Logger> {
  if (!process.stderr.isTTY) return createLog(level, process.stderr);
  const { prettyFactory } = await import('pino-pretty');
  const readable = prettyFactory({
    colorize: process.stderr.hasColors(),
    ignore: 'pid',
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
  });
  return createLog(level, { write: (line: string) => void process.stderr.write(readable(line)) });
}

/** A log of JSON lines. */
export function createLog(level: LogLevel, stream: DestinationStream): Logger {
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
