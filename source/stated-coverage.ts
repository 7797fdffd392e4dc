/**
 * What an answer's source says that it knows of the range asked for: a Tidemark does (contract/coverage-header.ts), other
 * services of the interface do not.
 */

import { coverageHeader, readCoverage } from '../contract/coverage-header.ts';
import type { EpochMs, Interval } from '../contract/intervals.ts';
import { type Known, missingPeriods } from '../planning/known-part.ts';
import { subtract } from '../planning/ranges.ts';
import { type Reply, wordsToShow } from './attempt.ts';
import { SourceError } from './source-error.ts';

interface AskedRange {
  readonly interval: Interval;
  readonly start?: EpochMs;
  readonly end?: EpochMs;
}

/**
 * @returns null when the source does not say, as most do not. Nothing that is missing lies outside the range.
 * @throws SourceError `incomplete` when it has nothing of the range, or when what it says cannot be read: it may be
 * that something is missing.
 */
export function statedCoverage(reply: Reply, asked: AskedRange): Known | null {
  const header = reply.header(coverageHeader);
  if (header === undefined) return null;
  const stated = readCoverage(header);
  if (stated === null) {
    const said = wordsToShow(reply, header);
    throw incomplete(reply, `what the source says of its coverage cannot be read: ${said}`);
  }
  const range = {
    startMs: asked.start ?? Number.NEGATIVE_INFINITY,
    endMs: asked.end ?? Number.POSITIVE_INFINITY,
  };
  const missing = missingPeriods(stated, asked.interval, range);
  // What has not ended is nobody's yet: an answer that reaches there is looked at.
  const isAllMissing = stated.untilMs >= range.endMs && subtract([range], missing).length === 0;
  if (isAllMissing) throw incomplete(reply, 'the source says that it does not have this itself');
  return { untilMs: stated.untilMs, missing };
}

function incomplete({ name, status, durationMs, body }: Reply, problem: string): SourceError {
  return new SourceError({
    kind: 'incomplete',
    message: `${name}: ${problem}`,
    status,
    durationMs,
    bytes: body.length,
  });
}
