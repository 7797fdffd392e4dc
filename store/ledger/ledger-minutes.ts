/**
 * Reads the ledger minute by minute, for callers that poll it.
 *
 * Each read starts where the last one is settled, and older minutes are kept in memory. So the first read costs as much
 * as the ledger holds, and each later one as much as the last minutes hold. A row may become visible up to a minute
 * after its time. A later one, such as after a long lock wait, is found by `recount`.
 */

import { type EpochMs, hourMs, minuteMs } from '../../model/intervals.ts';
import type { Lane } from '../../model/lanes.ts';
import { refreshedPeriods } from '../../model/window.ts';
import type { Database } from '../db/database.ts';
import { bool, int4, int8, listOf, nullable, oneOf, type RowOf, statement, text, time } from '../db/statement.ts';
import { checksumVerdict } from './ledger.ts';

const unsettledMs = minuteMs;
const sliceMs = hourMs;

/**
 * @param of.sinceMs the first time that counts; absent: `keptMs` before now.
 * @param of.keptMs how much of the past counts; absent: all since the first time.
 * @param of.seriesIds only requests for these; absent: all. @param of.lanes likewise.
 * @param of.backfillId only requests for the ranges of this backfill, without refreshes of what is newer; absent: all.
 */
export function ledgerMinutes(
  database: Database,
  of: {
    readonly sinceMs?: EpochMs;
    readonly keptMs?: number;
    readonly seriesIds?: readonly number[];
    readonly lanes?: readonly Lane[];
    readonly backfillId?: number | undefined;
  },
) {
  const startMs = of.sinceMs ?? Number.NEGATIVE_INFINITY;
  let settled: readonly LedgerMinute[] = [];
  /** Minutes from here on are read again. */
  let fromMs = startMs;

  function firstTime(nowMs: EpochMs): EpochMs {
    if (of.keptMs === undefined) return of.sinceMs ?? nowMs;
    return Math.max(startMs, nowMs - of.keptMs);
  }

  const { seriesIds = null, lanes = null, backfillId = null } = of;
  const ask = (fromMs: EpochMs, toMs: EpochMs | null): Promise<LedgerMinute[]> =>
    minutesBetween.on(database.pool, { from: fromMs, to: toMs, seriesIds, lanes, backfillId });

  async function read(nowMs: EpochMs): Promise<readonly LedgerMinute[]> {
    const firstMs = firstTime(nowMs);
    const fresh = await ask(Math.max(fromMs, firstMs), null);
    const settleMs = startOfMinute(nowMs - unsettledMs);
    const kept = settled.filter((one) => one.minuteMs >= startOfMinute(firstMs));
    settled = [...kept, ...fresh.filter((one) => one.minuteMs < settleMs)];
    fromMs = Math.max(fromMs, firstMs, settleMs);
    return [...settled, ...fresh.filter((one) => one.minuteMs >= settleMs)];
  }

  /** Reads everything again, an hour at a time: once, when the result has to be exact. */
  async function recount(nowMs: EpochMs): Promise<readonly LedgerMinute[]> {
    settled = [];
    fromMs = firstTime(nowMs);
    for (;;) {
      const endMs = fromMs + sliceMs;
      if (endMs > startOfMinute(nowMs - unsettledMs)) return read(nowMs);
      // A minute on the border is in both slices, in two parts.
      settled = [...settled, ...(await ask(fromMs, endMs))];
      fromMs = endMs;
    }
  }

  return { read, recount };
}

/** Requests of one minute with the same source, lane, verdict and outcome. */
type LedgerMinute = RowOf<typeof minutesBetween.row>;

// Planned for its bounds each time, which excludes the chunks of other days.
const minutesBetween = statement({
  name: 'ledger-minutes',
  isPlannedAnew: true,
  text: `
    select date_bin('${minuteMs / 1000} seconds', time, 'epoch') as "minuteMs", source, lane, verdict,
           error is not null as failed, count(*) as requests, coalesce(sum(fresh), 0)::bigint as fresh,
           max(time) as "newestMs", (array_agg(error order by time desc))[1] as message
    from tidemark.fetches f
    where time >= $from and ($to is null or time < $to) and ($seriesIds is null or series_id = any ($seriesIds))
      and ($lanes is null or lane = any ($lanes))
      and ($backfillId is null or exists (
        select from tidemark.backfill_series o
        where o.backfill_id = $backfillId and o.series_id = f.series_id and o.range && f.range
          and (f.lane <> 'refresh' or lower(f.range) < upper(o.range) - ${refreshedPeriods} * (
            select period from tidemark.series where id = o.series_id
          ))
      ))
    group by 1, 2, 3, 4, 5`,
  parameters: {
    ...{ from: time, to: nullable(time), seriesIds: nullable(listOf(int4)), lanes: nullable(listOf(text)) },
    backfillId: nullable(int8),
  },
  row: {
    ...{ minuteMs: time, source: text, lane: oneOf<Lane>(), verdict: text, failed: bool, requests: int8 },
    /** Points that were not stored before. */
    fresh: int8,
    newestMs: time,
    /** The newest error; null: none failed. */
    message: nullable(text),
  },
});

function startOfMinute(timeMs: EpochMs): EpochMs {
  return Math.floor(timeMs / minuteMs) * minuteMs;
}

export type FetchTally = ReturnType<typeof tallyFetches>;

/** Counts the requests for some series. @param minutes of the series that count. */
export function tallyFetches(minutes: readonly LedgerMinute[]) {
  const failures: Record<string, number> = {};
  let requests = 0;
  let failed = 0;
  let fresh = 0;
  let checksums = 0;
  let newestSuccessMs = Number.NEGATIVE_INFINITY;
  let last: LedgerMinute | null = null;
  for (const minute of minutes) {
    requests += minute.requests;
    if (minute.verdict === checksumVerdict) {
      checksums += minute.requests;
      continue;
    }
    fresh += minute.fresh;
    if (!minute.failed) {
      newestSuccessMs = Math.max(newestSuccessMs, minute.newestMs);
      continue;
    }
    failed += minute.requests;
    failures[minute.verdict] = (failures[minute.verdict] ?? 0) + minute.requests;
    if (last === null || minute.newestMs >= last.newestMs) last = minute;
  }
  return {
    requests,
    failed,
    /** Without checksums. */
    succeeded: requests - failed - checksums,
    /** Failed requests by kind of error. */
    failures,
    fresh,
    /** Whether the newest of them failed. */
    endsInFailure: last !== null && last.newestMs > newestSuccessMs,
    lastFailure: last === null ? null : { kind: last.verdict, message: last.message ?? last.verdict },
  };
}
