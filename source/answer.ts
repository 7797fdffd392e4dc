/** From the body of a 200 answer to validated rows. */

import { isUtf8 } from 'node:buffer';
import { epochMs } from '../contract/fields.ts';
import type { EpochMs } from '../contract/intervals.ts';
import { bodyToShow, type Reply, wordsToShow } from './attempt.ts';
import { parseExactJson } from './json.ts';
import type { RowReader } from './rows.ts';
import { saysUnknown, serviceWords } from './service-words.ts';
import { SourceError } from './source-error.ts';

/** A row that is none, kept so that it can be looked at. */
export interface Rejected {
  /** JSON text of the row, its beginning when it is long. */
  readonly raw: string;
  readonly reason: string;
}

interface AnswerFacts {
  /** The answer's own `timestamp`: when the source made it, which a stale copy betrays. Null when it has none. */
  readonly sourceTimeMs: EpochMs | null;
  readonly status: number;
  /** Decoded size of the body. */
  readonly bytes: number;
  readonly durationMs: number;
}

/** Rows in the order of the answer. One bad row costs that row: the others are kept. */
export interface Answer<Row> extends AnswerFacts {
  readonly rows: Row[];
  readonly rejected: Rejected[];
}

export interface ObjectAnswer<Row> extends AnswerFacts {
  readonly row: Row;
}

/** Characters kept of a rejected row. A row of the interface has a few hundred. */
const longestRaw = 2000;

/**
 * @throws SourceError `unexpected` when the answer holds no list, `notice` when it holds a message in its place;
 * `not_found` when it says that an id is unknown.
 */
export function listAnswer<Row extends object>(reply: Reply, read: RowReader<Row>): Answer<Row> {
  const value = parsed(reply);
  const data = unwrapped(value);
  if (!Array.isArray(data)) throw notTheResource(reply, value, 'no list');
  const rows: Row[] = [];
  const rejected: Rejected[] = [];
  for (const item of data) {
    const row = read(item);
    if (typeof row === 'string') rejected.push({ raw: rawOf(item), reason: row });
    else rows.push(row);
  }
  return { rows, rejected, ...factsOf(reply, value) };
}

/** @throws SourceError `unexpected` when the answer is not the object; `not_found` when it says that an id is unknown. */
export function objectAnswer<Row extends object>(reply: Reply, read: RowReader<Row>): ObjectAnswer<Row> {
  const value = parsed(reply);
  const row = read(unwrapped(value));
  if (typeof row === 'string') throw notTheResource(reply, value, row);
  return { row, ...factsOf(reply, value) };
}

/** The interface leaves open whether `/assets…` answers are wrapped in `data`; none of its resources has that field. */
function unwrapped(value: unknown): unknown {
  return isObject(value) && Object.hasOwn(value, 'data') ? value.data : value;
}

function factsOf(reply: Reply, value: unknown): AnswerFacts {
  const timestamp = epochMs.safeParse(isObject(value) ? value.timestamp : undefined);
  return {
    sourceTimeMs: timestamp.success ? timestamp.data : null,
    ...replyFacts(reply),
  };
}

export function replyFacts({ status, body, durationMs }: Reply): Omit<AnswerFacts, 'sourceTimeMs'> {
  return { status, bytes: body.length, durationMs };
}

function parsed(reply: Reply): unknown {
  // Decoding bytes that are not UTF-8 would replace them, and change an id or a symbol in silence.
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
  const words = serviceWords(value);
  // With which status a service says so is not known of every recorded answer; its words are.
  const kind = saysUnknown(words) ? 'not_found' : words.notice === null ? 'unexpected' : 'notice';
  return errorOf(reply, kind, words.notice ?? words.error ?? `not the expected shape: ${problem}`);
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
    // Writing recurses where reading did not: a row nested too deeply to write is not worth keeping.
    return '"(nested too deeply to keep)"';
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
