/** A source that serves given rows verbatim, and for a series the rows that start within the requested range. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { type LocalServer, serve } from '../sources/local-server.ts';

export interface ServedRow {
  /** Null for a row without a time. */
  readonly timeMs: EpochMs | null;
  /** JSON text. */
  readonly json: string;
}

export interface ServedAnswer {
  readonly rows: readonly ServedRow[];
  /** Null: the answer has no timestamp. */
  readonly timestampMs: EpochMs | null;
  /** The source's statement of its coverage. Absent: none. */
  readonly coverage?: (range: Range) => string;
}

/** @param answerTo the data for a path and an interval. Null: unknown to the source. */
export function serveRows(
  answerTo: (path: string, interval: string | null) => ServedAnswer | null,
): Promise<LocalServer> {
  return serve((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const answer = answerTo(url.pathname, url.searchParams.get('interval'));
    response.setHeader('content-type', 'application/json');
    if (answer === null) {
      response.writeHead(404).end('{"error":"that was not found","timestamp":0}');
      return;
    }
    const startMs = Number(url.searchParams.get('start') ?? 0);
    const endMs = Number(url.searchParams.get('end') ?? Number.POSITIVE_INFINITY);
    const rows = answer.rows.filter(({ timeMs }) => timeMs === null || (timeMs >= startMs && timeMs < endMs));
    const timestamp = answer.timestampMs === null ? '' : `,"timestamp":${answer.timestampMs}`;
    if (answer.coverage !== undefined) response.setHeader('x-tidemark-coverage', answer.coverage({ startMs, endMs }));
    response.end(`{"data":[${rows.map((row) => row.json).join(',')}]${timestamp}}`);
  });
}
