/** The coverage that the source states in a header (contract/coverage-header.ts). Only a Tidemark does. */

import { coverageHeader, readCoverage } from '../contract/coverage-header.ts';
import type { CandlesRequest, HistoryRequest } from '../contract/requests.ts';
import { subtract } from '../planning/ranges.ts';
import { missingPeriods, type UpstreamCoverage } from '../planning/upstream-coverage.ts';
import { type Reply, wordsToShow } from './attempt.ts';
import { SourceError } from './source-error.ts';

/**
 * @returns null if the source states none. Missing ranges lie within the requested range.
 * @throws SourceError `incomplete` if it has nothing of the range, or if the header cannot be parsed: something may be
 * missing.
 */
export function statedCoverage(
  reply: Reply,
  asked: HistoryRequest | CandlesRequest,
): UpstreamCoverage | null {
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
  // Open periods are not covered anywhere; an answer that reaches them is used.
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
