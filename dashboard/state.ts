/** Reads the snapshots for pages: cheap parts each time, expensive parts at intervals. */

import type { Clock } from '../clock.ts';
import { budgetText, counted, formatDuration, nonEmpty } from '../model/format.ts';
import { type EpochMs, minuteMs, type Range } from '../model/intervals.ts';
import { listName } from '../model/lists/index.ts';
import { type SeriesKey, seriesName } from '../model/series.ts';
import { loweredText } from '../planning/budget.ts';
import { holdOf, nameOf, type StateFacts, sentenceOf, sinceText, stateOf } from '../planning/headline.ts';
import { extentOf, pausesOf } from '../planning/progress.ts';
import { againText, unansweredText } from '../planning/source-outage.ts';
import { cachedFor } from '../service/cached.ts';
import type { Database } from '../store/db/database.ts';
import type { RowOf } from '../store/db/statement.ts';
import { readServiceMessage } from '../store/ledger/ledger.ts';
import { listStatus } from '../store/lists/lists.ts';
import { serverVersions } from '../store/status/status.ts';
import type { StatePorts } from './ports.ts';
import { readSeriesLines } from './queries/lines.ts';
import { type CountedMinute, requestMinutes } from './queries/problems.ts';
import type { QueueReader } from './queue.ts';
import type { ListLine, RequestMinutes, Snapshot, SourceLine } from './shapes.ts';

export interface StateOptions {
  readonly database: Database;
  readonly queue: QueueReader;
  readonly clock: Clock;
  readonly graceMs: number;
  readonly ports: StatePorts;
  readonly perMinute: number;
  readonly synthetic: boolean;
  /** Absent: `database` is no replica. */
  readonly replica?: {
    /** Null: unknown. */
    readonly lagMs: () => number | null;
    /** Where statements wait and jobs run. */
    readonly primary: Database;
  };
}

const shownMinutes = 60;
/** A commit becomes visible after its timestamp, so the newest minutes are counted again each time. */
const openMinutes = 3;
/** Intervals of slow-changing parts, and of the most expensive ones. */
const slowIntervalMs = 10_000;
const rareIntervalMs = 60_000;
/** Interval of the rules by which requests are counted. */
const rulesIntervalMs = 5000;

/** @returns reads a snapshot; call it for one snapshot at a time. */
export function stateReader(options: StateOptions): () => Promise<Snapshot> {
  const { database, queue, clock, graceMs, ports, perMinute, synthetic, replica } = options;
  const counting = cachedFor(rulesIntervalMs, async (nowMs) => {
    const countRequestsFor = await ports.readRequestCounter(nowMs);
    // Most ranges stay the same for many snapshots.
    const known = new Map<string, number>();
    return (series: SeriesKey, ranges: readonly Range[]): number => {
      const key = [seriesName(series), ...ranges.flatMap(({ startMs, endMs }) => [startMs, endMs])].join();
      const count = known.get(key) ?? countRequestsFor(series, ranges);
      known.set(key, count);
      return count;
    };
  });
  const readMinutes = minutesReader(database);
  const slow = cachedFor(slowIntervalMs, (nowMs) => readSlowly(options, nowMs));
  const version = cachedFor(rareIntervalMs, async () => versionText(await serverVersions.one(database.pool, {})));
  return async () => {
    const nowMs = clock.now();
    const queueRead = queue.read();
    // Sequential, so that the dashboard takes one connection.
    const requestsFor = await counting(nowMs);
    const lines = await readSeriesLines(database, { nowMs, graceMs, requestsFor });
    const requests = await readMinutes(nowMs);
    const queueState = await queueRead;
    // Each time: a sentence has what is to go beside what is covered, and the tiles beside it have the lines.
    const stored = await ports.readFacts(nowMs);
    const whole: StateFacts = {
      ...stored,
      nowMs,
      tracked: extentOf(lines),
      queue: queueState?.facts ?? { away: queue.problem() },
    };
    return {
      summary: {
        nowMs,
        synthetic,
        state: stateOf(whole),
        sources: sourceLines(whole),
        perMinute: queueState?.perMinute ?? perMinute,
        requests,
        queue: queueState === null ? null : { ...queueState.depth, pauses: pausesIn(whole) },
        ...(await slow(nowMs)),
        rejected: stored.rejected.rows,
        database: `${await version(nowMs)}${replica === undefined ? '' : lagText(replica.lagMs())}`,
      },
      // The lines are fresh, and copying 100,000 of them takes a tenth of a second.
      series: lines.map((line) => {
        const windows = queueState?.windows.get(line.id) ?? [];
        const active = windows.filter(({ isActive }) => isActive).length;
        return Object.assign(line, { queued: windows.length - active, active });
      }),
    };
  };
}

function pausesIn({ queue, sources }: StateFacts) {
  const inUse = sources.map(({ source }) => source);
  return 'away' in queue ? [] : pausesOf(queue.sources, inUse);
}

function sourceLines(facts: StateFacts): SourceLine[] {
  const queues = 'away' in facts.queue ? [] : facts.queue.sources;
  return facts.sources.map((source) => {
    const { lastMinute, pause } = source;
    const queue = queues.find((one) => one.source === source.source);
    const lowered = queue?.lowered ?? null;
    const sentence = sentenceOf(source, facts, nameOf(source, facts.sources));
    const hold = holdOf(source, facts);
    const again = hold === null && sentence === null ? source.unanswered : null;
    const text = nonEmpty([
      queue === undefined
        ? `${counted(lastMinute, 'request')} in the last minute`
        : budgetText({ ...queue, lastMinute }),
      lowered === null ? '' : loweredText(lowered),
      pause === null ? (sentence ?? '') : sinceText(pause),
      again === null ? '' : unansweredText(again),
    ]).join(', ');
    const asked = { isPaused: pause !== null, isLowered: lowered !== null, hold };
    return { name: source.source, text, ...asked, again: again === null ? null : againText(again) };
  });
}

async function readSlowly({ database }: StateOptions, nowMs: EpochMs) {
  const lists = await listStatus(database, nowMs);
  return {
    serviceMessage: await readServiceMessage(database, nowMs),
    lists: lists.map(
      ({ list, everyMs, newestMs, rows, problem }): ListLine => ({
        name: listName(list),
        ...{ everyMs, newestMs, rows, problem },
      }),
    ),
  };
}

function versionText({ postgres, timescale }: RowOf<typeof serverVersions.row>): string {
  return `PostgreSQL ${postgres.split(' ')[0]}, ${timescale === null ? 'plain tables' : `TimescaleDB ${timescale}`}`;
}

function lagText(lagMs: number | null): string {
  if (lagMs === null) return ', replica, unknown how far behind';
  return lagMs < 1000 ? ', replica, up to date' : `, replica, ${formatDuration(lagMs)} behind`;
}

/** Reads the requests of the last hour by minute: all minutes once, then only those that may still change. */
function minutesReader(database: Database): (nowMs: EpochMs) => Promise<RequestMinutes> {
  let known: readonly CountedMinute[] = [];
  let upToMs: EpochMs | null = null;
  return async (nowMs) => {
    const endMs = Math.floor(nowMs / minuteMs) * minuteMs + minuteMs;
    const startMs = endMs - shownMinutes * minuteMs;
    const closedMs = endMs - openMinutes * minuteMs;
    // After a pause without pages, the minutes that were open then are read again.
    const sinceMs = upToMs === null ? startMs : Math.max(startMs, Math.min(closedMs, upToMs));
    const fresh = await requestMinutes.on(database.pool, { sinceMs });
    known = [
      ...known.filter(({ minuteMs: at }) => at >= startMs && at < sinceMs),
      ...fresh.filter(({ minuteMs: at }) => at < endMs),
    ];
    upToMs = closedMs;
    const lanes: Record<string, number[]> = {};
    const failed = new Array<number>(shownMinutes).fill(0);
    for (const { minuteMs: at, lane, requests, failed: lost } of known) {
      const place = (at - startMs) / minuteMs;
      const counts = lanes[lane] ?? new Array<number>(shownMinutes).fill(0);
      lanes[lane] = counts;
      counts[place] = requests;
      failed[place] = (failed[place] ?? 0) + lost;
    }
    return { startMs, lanes, failed };
  };
}
