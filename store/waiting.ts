/** What of an answered window is put aside: it stays a gap, with its reason, and is asked for again after a while. */

import type pg from 'pg';
import { missingPauseMs } from '../planning/known-part.ts';
import { normalize, type Range } from '../planning/ranges.ts';
import type { Judged } from './judged.ts';
import { incompleteKind, incompleteMessage, putMissingAside } from './missing-there.ts';
import { putAside } from './pending.ts';

/** How long a window waits whose answer was made before its periods had closed. */
const staleRetryMs = 60_000;
/** How long one waits of whose answer nothing could be used: something is wrong with the source, or with us. */
const unreadableRetryMs = 600_000;
/** And at first, at most, what the source says that it does not have. */
const longestFirstMissingMs = 600_000;

/** Puts aside what of a window has to wait: an answer of which not all could be used. The series is locked already. */
export async function putWaitingAside(client: pg.PoolClient, judged: Judged): Promise<void> {
  const { judgement, seriesId, attempt, nowMs } = judged;
  const aside = { seriesId, attempts: attempt, nowMs };
  const { stale } = judgement;
  // What the source had nothing to say of yet is no older answer: it lags.
  const lags = stale !== null && judged.knownUntilMs <= stale.startMs;
  for (const range of lags ? normalize([...judged.missing, stale]) : judged.missing)
    await putMissing(client, judged, range);
  if (stale !== null && !lags) {
    await putAside(client, {
      ...aside,
      window: stale,
      verdict: 'stale',
      kind: 'stale',
      message: 'the answer was older than the window',
      retryAtMs: nowMs + staleRetryMs,
    });
  }
  if (judgement.verdict === 'unreadable') {
    await putAside(client, {
      ...aside,
      window: judged.window,
      verdict: 'failed',
      kind: 'unreadable',
      message: 'no row of the answer could be read, or none belonged to the window',
      retryAtMs: nowMs + unreadableRetryMs,
    });
  }
}

async function putMissing(client: pg.PoolClient, judged: Judged, range: Range): Promise<void> {
  const { seriesId, attempt, nowMs, series, lane } = judged;
  const pauseMs = missingPauseMs(range, series.interval, nowMs, longestFirstMissingMs);
  const aside = {
    seriesId,
    message: incompleteMessage,
    attempts: attempt,
    nowMs,
    retryAtMs: nowMs + pauseMs,
  };
  await putMissingAside(client, { ...aside, range });
  // It is covered here, and was to be read again all the same: that waits too.
  if (lane === 'reread')
    await putAside(client, {
      ...aside,
      window: range,
      verdict: 'failed',
      kind: incompleteKind,
      ofCovered: true,
    });
}
