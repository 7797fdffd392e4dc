/** Parses and validates a 200 response: its rows, and the coverage that the source states in a header. */

import { isUtf8 } from 'node:buffer';
import type { DatasetName } from '../model/datasets/index.ts';
import { formatCount } from '../model/format.ts';
import type { EpochMs, Interval } from '../model/intervals.ts';
import { linesOf, type Point, pointObject } from '../model/point-lines.ts';
import { type Range, subtract } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';
import type { Answer, PointsAnswer, RejectedRow, ReplyFacts } from '../planning/answer.ts';
import { missingPeriods, type UpstreamCoverage } from '../planning/upstream-coverage.ts';
import { coverageHeader, readCoverage } from '../v2/coverage-header.ts';
import { epochMs } from '../v2/resources.ts';
import { bodyToShow, type Reply, wordsToShow } from './attempt.ts';
import { messagesOf, replyError, statesUnknownId } from './error-response.ts';
import { parseExactJson } from './json.ts';
import { pointReader, type RowReader } from './rows.ts';
import { scanPoints } from './scan.ts';
import type { SourceError, SourceErrorKind } from './source-error.ts';

/** Characters of a rejected row that are kept. A row of the interface has a few hundred. */
export const longestRaw = 2000;

/**
 * @throws SourceError `unexpected` when the answer holds no list, or an empty one beside an error; `notice` when it
 * holds a service message, `not_found` when it says that an id is unknown.
 */
export function listAnswer<Row extends object>(reply: Reply, read: RowReader<Row>): Answer<Row> {
  const value = parsedBody(reply);
  const data = unwrapped(value);
  if (!Array.isArray(data)) throw notTheResource(reply, value, 'no list');
  // An empty list beside an error is none: it would be taken for a time without points.
  if (data.length === 0 && messagesOf(value).error !== null) throw notTheResource(reply, value, 'no rows');
  const timestamp = epochMs.safeParse(isObject(value) ? value.timestamp : undefined);
  return rowsAnswer(reply, data, read, timestamp.success ? timestamp.data : null);
}

/**
 * The answer of a list of rows.
 *
 * @param timeOf reads the time of a rejected row, where it has another place than in rows of the interface.
 */
export function rowsAnswer<Row extends object>(
  reply: Reply,
  items: readonly unknown[],
  read: RowReader<Row>,
  sourceTimeMs: EpochMs | null = null,
  timeOf?: (item: unknown) => EpochMs | null,
): Answer<Row> {
  const rows: Row[] = [];
  const rejected: RejectedRow[] = [];
  for (const item of items) {
    const row = read(item);
    if (typeof row !== 'string') rows.push(row);
    else rejected.push({ raw: rawOf(item), reason: row, ...(timeOf && { timeMs: timeOf(item) }) });
  }
  return { rows, rejected, sourceTimeMs, ...replyFacts(reply) };
}

/** Of an answer with rows, in the ledger. */
const shownBytes = 400;

/** The interface does not say whether `/assets…` answers are wrapped in `data`. No resource has that field. */
function unwrapped(value: unknown): unknown {
  return isObject(value) && Object.hasOwn(value, 'data') ? value.data : value;
}

export function replyFacts(reply: Reply): ReplyFacts {
  const { status, body, durationMs } = reply;
  // A file within a zip has bytes of zero in its head.
  const isText = !body.subarray(0, shownBytes).includes(0);
  return { status, bytes: body.length, durationMs, ...(isText && { body: bodyToShow(reply, shownBytes) }) };
}

/** Of rejected rows in the ledger: both of a pair that differs, and others as they fit. */
const [leastQuoted, quotedCharacters] = [2, 1000];

/** The answer with its rejected rows in place of its beginning, which says nothing of them. */
export function quotingRejected<Of extends Answer<unknown, unknown>>(answer: Of, reply: Reply): Of {
  const { rejected } = answer;
  if (rejected.length === 0) return answer;
  let length = 0;
  const quoted = rejected.filter(({ raw }, place) => {
    length += raw.length;
    return place < leastQuoted || length <= quotedCharacters;
  });
  const more = rejected.length - quoted.length;
  const rows = [...quoted.map(({ raw }) => raw), ...(more === 0 ? [] : [`and ${formatCount(more)} more`])].join(', ');
  return { ...answer, body: wordsToShow(reply, rows, rows.length) };
}

/**
 * The JSON of a body, its numbers exact.
 *
 * @throws SourceError `unexpected` for a body that is not JSON.
 */
export function parsedBody(reply: Reply): unknown {
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
  kind: Exclude<SourceErrorKind, 'rate_limited'>,
  problem: string,
  cause?: unknown,
): SourceError {
  return replyError(reply, { kind, said: problem, cause });
}

function rawOf(item: unknown): string {
  try {
    return JSON.stringify(item).slice(0, longestRaw);
  } catch {
    // A row may be nested too deeply to be written again.
    return '"(nested too deeply to keep)"';
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws SourceError as {@link listAnswer}. */
export function pointsAnswer(
  reply: Reply,
  { dataset, interval }: Pick<SeriesKey, 'dataset' | 'interval'>,
): PointsAnswer {
  const scanned = scanPoints(reply.body, dataset, interval);
  if (scanned === null) return inLines(dataset, listAnswer(reply, pointReader(dataset, interval)));
  const { rows, sourceTimeMs, impossible } = scanned;
  const rejected = impossible.map(({ point, reason }) => ({ raw: rawOf(pointObject(dataset, point)), reason }));
  return { rows, rejected, sourceTimeMs, ...replyFacts(reply) };
}

/** The answer with its points as lines. */
export function inLines(dataset: DatasetName, { rows, ...answer }: Answer<Point>): PointsAnswer {
  return { ...answer, rows: linesOf(dataset, rows) };
}

/**
 * @returns null if the source states none. Missing ranges lie within the requested range.
 * @throws SourceError `incomplete` if it has nothing of the range, or if the header cannot be parsed: something may be
 * missing.
 */
export function statedCoverage(reply: Reply, asked: Range & { readonly interval: Interval }): UpstreamCoverage | null {
  const header = reply.header(coverageHeader);
  if (header === undefined) return null;
  const stated = readCoverage(header);
  if (stated === null)
    throw errorOf(reply, 'incomplete', `what the source says of its coverage cannot be read: ${header}`);
  const missing = missingPeriods(stated, asked.interval, asked);
  // Open periods are not covered anywhere; an answer that reaches them is used.
  const isAllMissing = stated.untilMs >= asked.endMs && subtract([asked], missing).length === 0;
  if (isAllMissing) throw errorOf(reply, 'incomplete', 'the source says that this is not complete there');
  return { untilMs: stated.untilMs, missing };
}

/**
 * An answer states at most what was so when it was made: earlier than it came, if a cache says so by `Age`, and by the
 * source's clock in `Date` where neither the answer nor its rows state a time (RFC 9110, RFC 9111).
 */
export function madeEarlier(answer: PointsAnswer, { header, durationMs }: Reply, nowMs: EpochMs): PointsAnswer {
  const { sourceTimeMs, known = null } = answer;
  const age = /^\d{1,9}$/.exec(header('age')?.trim() ?? '');
  const dateMs = sourceTimeMs === null && known === null ? Date.parse(header('date') ?? '') : Number.NaN;
  const askedMs = nowMs - durationMs;
  const times = [
    ...(age === null ? [] : [askedMs - Number(age[0]) * 1000]),
    ...(Number.isNaN(dateMs) ? [] : [Math.min(dateMs, askedMs)]),
    ...(sourceTimeMs === null ? [] : [sourceTimeMs]),
  ];
  return times.length === 0 ? answer : { ...answer, sourceTimeMs: Math.min(...times) };
}
