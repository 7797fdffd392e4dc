/** Parses and validates the body of a 200 response. */

import { isUtf8 } from 'node:buffer';
import type { EpochMs } from '../contract/intervals.ts';
import { epochMs } from '../contract/resources.ts';
import { bodyToShow, type Reply, wordsToShow } from './attempt.ts';
import { parseExactJson } from './json.ts';
import { messagesOf, statesUnknownId } from './refusal.ts';
import type { RowReader } from './rows.ts';
import { SourceError } from './source-error.ts';

/** A row that failed validation, kept for quarantine. */
export interface Rejected {
  /** JSON text of the row, truncated if long. */
  readonly raw: string;
  readonly reason: string;
}

/** Rows in the order of the answer. An invalid row does not affect the others. */
export interface Answer<Row> {
  readonly rows: Row[];
  readonly rejected: Rejected[];
  /** The answer's `timestamp`, which reveals a stale copy; null: it has none. */
  readonly sourceTimeMs: EpochMs | null;
  readonly status: number;
  /** Decoded size of the body. */
  readonly bytes: number;
  readonly durationMs: number;
}

/** Characters of a rejected row that are kept. A row of the interface has a few hundred. */
const longestRaw = 2000;

/**
 * @throws SourceError `unexpected` when the answer holds no list, or an empty one beside an error; `notice` when it holds a
 * service message, `not_found` when it says that an id is unknown.
 */
export function listAnswer<Row extends object>(reply: Reply, read: RowReader<Row>): Answer<Row> {
  const value = parsed(reply);
  const data = unwrapped(value);
  if (!Array.isArray(data)) throw notTheResource(reply, value, 'no list');
  // An empty list beside an error is none: it would be taken for a time without points.
  if (data.length === 0 && messagesOf(value).error !== null) throw notTheResource(reply, value, 'no rows');
  const rows: Row[] = [];
  const rejected: Rejected[] = [];
  for (const item of data) {
    const row = read(item);
    if (typeof row === 'string') rejected.push({ raw: rawOf(item), reason: row });
    else rows.push(row);
  }
  const timestamp = epochMs.safeParse(isObject(value) ? value.timestamp : undefined);
  const sourceTimeMs = timestamp.success ? timestamp.data : null;
  return { rows, rejected, sourceTimeMs, ...replyFacts(reply) };
}

/** The interface does not say whether `/assets…` answers are wrapped in `data`. No resource has that field. */
function unwrapped(value: unknown): unknown {
  return isObject(value) && Object.hasOwn(value, 'data') ? value.data : value;
}

export function replyFacts({
  status,
  body,
  durationMs,
}: Reply): Pick<Answer<never>, 'status' | 'bytes' | 'durationMs'> {
  return { status, bytes: body.length, durationMs };
}

function parsed(reply: Reply): unknown {
  // Decoding would replace invalid UTF-8, and change an id or a symbol silently.
  if (!isUtf8(reply.body)) throw errorOf(reply, 'unexpected', 'not UTF-8');
  const text = reply.body.toString('utf8');
  try {
    return parseExactJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    const what = /^\s*</.test(text)
      ? 'HTML instead of JSON'
      : `not JSON: ${error instanceof Error ? error.message : error}`;
    throw errorOf(reply, 'unexpected', text.trim() === '' ? 'an empty body' : what, error);
  }
}

function notTheResource(reply: Reply, value: unknown, problem: string): SourceError {
  const words = messagesOf(value);
  // Services use different statuses for an unknown id, and the same words.
  const kind = statesUnknownId(words) ? 'not_found' : words.serviceMessage === null ? 'unexpected' : 'notice';
  return errorOf(reply, kind, words.serviceMessage ?? words.error ?? `not the expected shape: ${problem}`);
}

function errorOf(
  reply: Reply,
  kind: 'unexpected' | 'not_found' | 'notice',
  problem: string,
  cause?: unknown,
): SourceError {
  return new SourceError({
    kind,
    message: `${reply.name}: status ${reply.status}: ${wordsToShow(reply, problem)}`,
    status: reply.status,
    unknownId: kind === 'not_found',
    durationMs: reply.durationMs,
    bytes: reply.body.length,
    body: bodyToShow(reply),
    cause,
  });
}

function rawOf(item: unknown): string {
  try {
    return JSON.stringify(item).slice(0, longestRaw);
  } catch {
    // A row may be nested too deeply to be written again.
    return '"(nested too deeply to keep)"';
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
