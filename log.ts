/** Logs: pino, JSON lines on standard error, with keys and passwords redacted. */

import { type DestinationStream, destination, type Logger, pino } from 'pino';
import type { Config, LogLevel } from './config.ts';

/** Words that never belong in a log, wherever they come up. */
const secretFields = ['apiKey', 'password', 'authorization', 'connectionString'];

/**
 * @param secrets texts to hide wherever they occur, such as the API key inside an error's message.
 * @param stream where the lines go; absent: standard error, so that standard output holds only results.
 */
export function createLog(level: LogLevel, secrets: readonly string[], stream?: DestinationStream): Logger {
  const hidden = secrets.filter((secret) => secret.length >= 4);
  const target = stream ?? destination({ dest: 2, sync: true });
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
        censor: '[redacted]',
      },
    },
    { write: (line: string) => target.write(withoutSecrets(line, hidden)) },
  );
}

/** A line without the given secrets, and without the password of any URL in it. */
export function withoutSecrets(line: string, secrets: readonly string[]): string {
  let clean = line.replace(/(\b[a-z][a-z+.-]*:\/\/[^\s:@/"]*:)[^\s@/"]+@/gi, '$1[redacted]@');
  for (const form of writtenForms(secrets)) clean = clean.replaceAll(form, '[redacted]');
  return clean;
}

/**
 * The secrets as they are written: plainly, inside the JSON of a line, and inside JSON that such a line quotes. Longest
 * first, lest a secret that is part of another one leave the rest of it standing.
 */
function writtenForms(secrets: readonly string[]): string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  const forms = secrets.flatMap((secret) => [secret, inJson(secret), inJson(inJson(secret))]);
  return [...new Set(forms)].sort((one, other) => other.length - one.length);
}

/** The secrets that a configuration holds. */
export function secretsOf(config: Config): string[] {
  const passwords = [config.database.url, config.queue.redisUrl]
    .filter((url) => url !== undefined)
    .flatMap((url) => passwordsIn(url));
  const { source, board, service } = config;
  const others = [source.apiKey, board.password, service.dashboardPassword].map((secret) => secret ?? '');
  return [...passwords, ...others].filter((secret) => secret !== '');
}

/** The password of a URL, as the URL has it, decoded, and as a program that puts a URL together would encode it. */
function passwordsIn(url: string): string[] {
  const { password } = new URL(url);
  // What is written into a URL unencoded, the parser encodes.
  const written = /:\/\/[^/?#]*?:([^/?#]*)@/.exec(url)?.[1] ?? password;
  return [written, password, decoded(password), encodeURIComponent(decoded(password))];
}

/** A password may hold a per cent sign that begins no escape. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
