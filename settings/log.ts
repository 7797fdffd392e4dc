/** Logs on standard error, with credentials redacted. Standard output holds only results. */

import { type DestinationStream, type Logger, pino } from 'pino';
import { hidden, secretField, withoutCredentials } from '../redaction.ts';
import type { LogLevel } from './config.ts';

/** Readable lines on a terminal, else JSON. `NO_COLOR` is respected. */
export async function openLog(level: LogLevel): Promise<Logger> {
  if (!process.stderr.isTTY) return createLog(level, process.stderr);
  const { prettyFactory } = await import('pino-pretty');
  const readable = prettyFactory({
    colorize: process.stderr.hasColors(),
    ignore: 'pid',
    hideObject: true,
    messageFormat: (log) => [log.msg, ...fieldsOf(log)].join(' '),
    translateTime: 'SYS:HH:MM:ss',
  });
  return createLog(level, { write: (line: string) => void process.stderr.write(readable(line)) });
}

/** Fields of every line, which are shown by themselves or not at all. */
const usual = new Set(['level', 'time', 'pid', 'msg']);

/** The other fields as `name=value`, and the stack of an error on lines of its own. */
function fieldsOf(log: Readonly<Record<string, unknown>>): string[] {
  const fields = Object.entries(log).filter(([name]) => !usual.has(name));
  const text = fields.map(([name, value]) => `${name}=${isError(value) ? quoted(value.message) : quoted(value)}`);
  const stacks = fields.flatMap(([, value]) => (isError(value) ? [`\n    ${value.stack}`] : []));
  return [...text, ...stacks];
}

function quoted(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

/** An error as pino writes it. */
function isError(value: unknown): value is { readonly message: string; readonly stack: string } {
  return typeof value === 'object' && value !== null && 'stack' in value && 'message' in value;
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
