/**
 * The messages from the dashboard's server to its page: one schema, from which the types of both follow. Times and
 * lengths are milliseconds.
 */

import { z } from 'zod';
import type { CalendarMonth } from '../model/calendar.ts';
import { datasetNames } from '../model/datasets/index.ts';
import { backfillKinds, backfillStates } from '../model/lanes.ts';
import { reasonNames } from '../model/reasons.ts';
import { conditionKinds, type Headline, levels, listNames, type State } from '../planning/conditions.ts';
import { layers } from './layers.ts';
import { listOf, message, time } from './queries/message.ts';
import {
  chartPane,
  chartPoints,
  failedRequests,
  failure,
  failureCause,
  listContents,
  minuteRequests,
  pastRequest,
  quarantinedRow,
  recordedAction,
  revisedSeries,
  storedBytes,
  storedEvent,
  storedLine,
} from './queries/shapes.ts';

export type {
  ChartPane,
  ListContents,
  MinuteRequests,
  PastRequest,
  PointRow,
  StoredBytes,
  StoredEvent,
} from './queries/shapes.ts';

const count = z.number();
const range = { startMs: time, endMs: time };

const seriesLine = message({
  ...storedLine.unwrap().shape,
  /** Windows that wait for their request. */
  queued: count,
  /** Windows whose request is under way. */
  active: count,
});
export type SeriesLine = z.output<typeof seriesLine>;

/** Requests by minute and lane; the last minute is the current one. */
const requestMinutes = message({
  startMs: time,
  lanes: z.record(z.string(), listOf(count)).readonly(),
  /** Requests of all lanes that stored nothing. */
  failed: listOf(count),
});
export type RequestMinutes = z.output<typeof requestMinutes>;

const queueDepth = { waiting: count, active: count, delayed: count, workers: count };
const queueSummary = message({
  ...queueDepth,
  /** How long no request starts, of each source in use. */
  pauses: listOf(message({ source: z.string(), pausedMs: z.number() })),
});

const listLine = message({
  name: z.string(),
  everyMs: z.number(),
  newestMs: time.nullable(),
  rows: count.nullable(),
  problem: z.string().nullable(),
});
export type ListLine = z.output<typeof listLine>;

/** A source of tracked series. */
const sourceLine = message({
  name: z.string(),
  /** Its use and its state, in words. */
  text: z.string(),
  /** Whether it is paused, or its budget lowered, by a user. */
  isPaused: z.boolean(),
  isLowered: z.boolean(),
  /** What has to come before it is asked, such as `kraken is resumed`; null: nothing. */
  hold: z.string().nullable(),
  /** When it is asked again whose last request was not answered, such as `from 12:00:01Z on`; null: it answers. */
  again: z.string().nullable(),
});
export type SourceLine = z.output<typeof sourceLine>;

const headline = message({
  kind: z.enum(conditionKinds),
  level: z.enum(levels),
  text: z.string(),
  source: z.string().nullable(),
  list: z.enum(listNames).nullable(),
  command: z.string().nullable(),
}) satisfies z.ZodType<Headline>;

const state = message({
  headline,
  also: listOf(headline),
  left: count,
  requests: count,
  wantedMs: z.number(),
  coveredMs: z.number(),
  etaMs: z.number().nullable(),
  waiting: z.string().nullable(),
}) satisfies z.ZodType<State>;

const summary = message({
  nowMs: time,
  /** Whether the source is a simulator. */
  synthetic: z.boolean(),
  /** What `tidemark status` says: the headline, further conditions, the requests to go and the time they take. */
  state,
  /** Budget in requests a minute; 0: unlimited. */
  perMinute: z.number(),
  requests: requestMinutes,
  /** Null: the queue is unavailable. */
  queue: queueSummary.nullable(),
  /** What the source answers in place of data. */
  serviceMessage: message({ timeMs: time, message: z.string() }).nullable(),
  lists: listOf(listLine),
  sources: listOf(sourceLine),
  /** Rejected rows of periods without a point. */
  rejected: count,
  database: z.string(),
});
export type Summary = z.output<typeof summary>;

const snapshot = message({ summary, series: listOf(seriesLine) });
export type Snapshot = z.output<typeof snapshot>;

const change = message({ summary, series: listOf(seriesLine), gone: listOf(z.number()) });
export type Change = z.output<typeof change>;

const trouble = message({ message: z.string(), headline });
export type Trouble = z.output<typeof trouble>;

/** An action at the dashboard, newest first in its list. */
const actionLine = message({
  ...recordedAction.unwrap().shape,
  /** Windows of a running verify or repair in the process that answers; null: none. */
  progress: message({ done: count, of: count }).nullable(),
});
export type ActionLine = z.output<typeof actionLine>;

/** What asks for ranges. */
const backfillLine = message({
  id: z.number(),
  kind: z.enum(backfillKinds),
  askedMs: time,
  by: z.string(),
  state: z.enum(backfillStates),
  /** The first alone. */
  names: listOf(z.string()),
  series: count,
  fromMs: time.nullable(),
  toMs: time.nullable(),
  progress: z.string().nullable(),
  left: count.nullable(),
  etaMs: z.number().nullable(),
  result: z.string().nullable(),
  endedMs: time.nullable(),
  /** Of those that run. */
  answers: message({
    requests: count,
    points: count,
    kinds: z.record(z.string(), count).readonly(),
    failures: listOf(message({ kind: z.string(), requests: count, message: z.string() })),
  }).nullable(),
});
export type BackfillLine = z.output<typeof backfillLine>;

/**
 * A range divided into columns. Each layer lists the columns that contain it as flat pairs of first and one past the
 * last.
 */
const band = message({
  ...range,
  id: z.number(),
  columns: count,
  layers: z.record(z.enum(layers), listOf(z.number())).readonly(),
});
export type Band = z.output<typeof band>;

const points = message({ ...chartPoints.unwrap().shape, ...range, interval: z.string(), band });
export type Points = z.output<typeof points>;

const missingRange = message({
  ...range,
  cause: z.enum(reasonNames),
  message: z.string().nullable(),
  source: z.string().nullable(),
  /** Time of the next request; null: as soon as the budget allows. */
  retryAtMs: time.nullable(),
});

/** What is known of a part of a series, in whole periods, and what led to that. */
const comparedLine = message({ name: z.string(), isKnown: z.boolean() });
export type ComparedLine = z.output<typeof comparedLine>;

const seriesRange = message({
  ...range,
  wantedMs: z.number(),
  coveredMs: z.number(),
  gaps: listOf(missingRange),
  gapsInAll: count,
  /** Covered times without a point for far longer than usual, and what proves them. */
  silences: listOf(message({ ...range, proof: z.string() })),
  /**
   * What is confirmed to hold no point, with the newest two answers about it, the older one first, as far as the ledger
   * still has them, and the time of the last one.
   */
  confirmed: listOf(
    message({
      ...{ ...range, answeredMs: time.nullable() },
      answers: listOf(message({ timeMs: time, verdict: z.string(), source: z.string() })),
    }),
  ),
  /** For periods of the range, the newest first. */
  fetches: listOf(pastRequest),
  /** Sources to compare it with, first those that are known to have it. */
  others: listOf(comparedLine),
  /** The statement of its points. */
  sql: z.string(),
});
export type SeriesRange = z.output<typeof seriesRange>;

const seriesDetail = message({
  id: z.number(),
  name: z.string(),
  dataset: z.enum(datasetNames),
  interval: z.string(),
  /** What a chart of candles has below it. */
  panes: listOf(chartPane),
  fromMs: time,
  toMs: time.nullable(),
  untrackedMs: time.nullable(),
  /** Why it has no point, in the words of its source; null: its source knows it. */
  unknown: z.string().nullable(),
  /** That are asked for it, in order. */
  sources: listOf(z.string()),
  earliestMs: time.nullable(),
  newestMs: time.nullable(),
  gaps: listOf(missingRange),
  gapsInAll: count,
  fetches: listOf(pastRequest),
  revisions: listOf(message({ timeMs: time, seenAtMs: time, before: z.record(z.string(), z.string()).readonly() })),
  rejections: listOf(message({ seenAtMs: time, reason: z.string(), raw: z.string() })),
});
export type SeriesDetail = z.output<typeof seriesDetail>;

const problems = message({
  /** Refused series, then failed windows, newest first; `failingInAll` counts both. */
  failing: listOf(failure),
  failingInAll: count,
  /** The same by message, the most frequent first. */
  causes: listOf(failureCause),
  /** Of the last hour, by kind. */
  errors: listOf(failedRequests),
  quarantine: listOf(quarantinedRow),
  revised: listOf(revisedSeries),
  /** Tidemark's statements that wait for locks, and the sessions that hold them. */
  locks: message({ statements: count, holders: listOf(z.string()) }),
  /** TimescaleDB background jobs that fail or that no worker runs. */
  jobs: listOf(
    message({
      kind: z.string(),
      /** The table or rollup; null for other jobs. */
      of: z.string().nullable(),
      lastRunMs: time.nullable(),
      failures: count,
      message: z.string(),
    }),
  ),
});
export type Problems = z.output<typeof problems>;

const month = message({
  startMs: time,
  wantedMs: z.number(),
  coveredMs: z.number(),
  failed: z.boolean(),
  awaiting: z.boolean(),
  silent: z.boolean(),
}) satisfies z.ZodType<CalendarMonth>;

/** Coverage by month, of one series or of all together. */
const calendar = message({ months: listOf(month) });
export type Calendar = z.output<typeof calendar>;

/** Answers by their path below `/dashboard/`. */
export const answers = {
  bands: listOf(band),
  'series/:id': seriesDetail,
  'series/:id/points': points,
  'series/:id/range': seriesRange,
  problems,
  actions: listOf(actionLine),
  backfills: listOf(backfillLine),
  calendar,
  refusals: listOf(
    message({
      ...{ timeMs: time, kind: z.string(), status: z.number().nullable(), series: z.string().nullable() },
      ...{ range: message(range).nullable(), message: z.string() },
    }),
  ),
  requests: minuteRequests,
  storage: listOf(storedBytes),
  'events/log': listOf(storedEvent),
  timeline: listOf(storedEvent),
  list: listContents,
};
export type Answers = { readonly [Path in keyof typeof answers]: z.output<(typeof answers)[Path]> };

/**
 * Events of the stream. `snapshot`: the whole state. `change`: the changed lines, and the ids of series no longer
 * tracked. `trouble`: the store cannot be read, and the state sent before stays on the page, under the headline of the
 * event.
 */
export const events = { snapshot, change, trouble };
