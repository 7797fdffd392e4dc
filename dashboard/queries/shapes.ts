/**
 * What the dashboard reads from the store, as it reaches the page: schemas, and the types that follow from them. Times
 * and lengths are milliseconds.
 */

import { z } from 'zod';
import { datasetNames } from '../../model/datasets/index.ts';
import { listOf, message, time } from './message.ts';

/** One tracked series in the list. */
export const storedLine = message({
  id: z.number(),
  name: z.string(),
  /** Null: of an asset, not of a market. */
  exchange: z.string().nullable(),
  interval: z.string(),
  periodMs: z.number(),
  fromMs: time,
  /** Null: tracked into the future. */
  toMs: time.nullable(),
  /** The tracked range up to the last closed period, and its covered, confirmed empty and missing parts. */
  wantedMs: z.number(),
  coveredMs: z.number(),
  emptyMs: z.number(),
  missingMs: z.number(),
  /**
   * Parts of the missing range: failed windows, those of them that the source no longer keeps, and windows with one
   * empty response.
   */
  failedMs: z.number(),
  beyondDepthMs: z.number(),
  awaitingMs: z.number(),
  gaps: z.number(),
  /** How current it is (`recencyOf` of planning/periods.ts). */
  behindMs: z.number(),
  silentSinceMs: time.nullable(),
  readMs: time.nullable(),
  /** Requests for the missing range, and for the whole tracked range. */
  requestsLeft: z.number(),
  requests: z.number(),
  points: z.number(),
  newestMs: time.nullable(),
  revised: z.number(),
  /** The source's message when it refuses the whole series. */
  blocked: z.string().nullable(),
  /** Changes whenever the stored coverage of the series changes. */
  version: z.string(),
});
export type StoredLine = z.output<typeof storedLine>;

/** The time and the values that `names` has: decimals as text, with every digit; null: not known. */
const pointRow = z.tuple([time], z.string().nullable()).readonly();
export type PointRow = z.output<typeof pointRow>;

export const chartPoints = message({
  /** Candles, a line of values of which each is the last in its period, or bars of the sum of each period. */
  kind: z.enum(['candles', 'line', 'bars']),
  names: listOf(z.string()),
  /** Whether each value is the last stored one of its period, without the highs and lows between. */
  sampled: z.boolean(),
  rows: listOf(pointRow),
});
export type ChartPoints = z.output<typeof chartPoints>;

/** A series that is drawn in a pane below candles of its market. */
export const chartPane = message({ id: z.number(), dataset: z.enum(datasetNames), interval: z.string() });
export type ChartPane = z.output<typeof chartPane>;

export const failure = message({
  seriesId: z.number(),
  name: z.string(),
  /** Null: the source refuses the whole series. */
  window: message({ startMs: time, endMs: time }).nullable(),
  /** What the source said, with `…` for the name of the series. */
  message: z.string(),
  /** Earliest time of the next attempt. */
  retryMs: time,
});
export type Failure = z.output<typeof failure>;

/** Failures with the same message. */
export const failureCause = message({
  message: z.string(),
  series: z.number(),
  ranges: z.number(),
  /** Earliest time of the next attempt. */
  nextMs: time,
  /** Whether the source refuses whole series for it. */
  isRefused: z.boolean(),
});

/** Failed requests of one kind. */
export const failedRequests = message({ kind: z.string(), requests: z.number(), newestMs: time, message: z.string() });

export const quarantinedRow = message({
  dataset: z.string(),
  seriesId: z.number().nullable(),
  name: z.string().nullable(),
  seenAtMs: time,
  reason: z.string(),
  /** The beginning of the row's text. */
  raw: z.string(),
});

export const revisedSeries = message({ seriesId: z.number(), name: z.string(), values: z.number() });

/** An action at the dashboard. */
export const recordedAction = message({
  id: z.number(),
  timeMs: time,
  action: z.string(),
  request: z.unknown(),
  address: z.string(),
  /** As the browser gave it beside the password; null: none. */
  userName: z.string().nullable(),
  /** `running` also if its process ended before it did. */
  state: z.enum(['running', 'done', 'failed']),
  result: z.string().nullable(),
  endedMs: time.nullable(),
});
export type RecordedAction = z.output<typeof recordedAction>;

export const storedBytes = message({
  dataset: z.string(),
  bytes: z.number(),
  /** The part in the columnstore. */
  compressed: z.number(),
});
export type StoredBytes = z.output<typeof storedBytes>;

export const storedEvent = message({
  timeMs: time,
  /** Null: a moment. */
  untilMs: time.nullable(),
  kind: z.string(),
  text: z.string(),
  /** Null: of no series, or of a series that is no longer tracked. */
  seriesId: z.number().nullable(),
  name: z.string().nullable(),
});
export type StoredEvent = z.output<typeof storedEvent>;

export const pastRequest = message({
  timeMs: time,
  range: message({ startMs: time, endMs: time }).nullable(),
  lane: z.string(),
  verdict: z.string(),
  fresh: z.number(),
  changed: z.number(),
  rejected: z.number(),
  /** Why the first of them was; null: none was, or it is not known. */
  rejectedFor: z.string().nullable(),
  durationMs: z.number(),
  error: z.string().nullable(),
  /** Rejected rows of an answer, or the beginning of one that did not fill its range; null: it has none. */
  body: z.string().nullable(),
  source: z.string(),
});
export type PastRequest = z.output<typeof pastRequest>;

/** The requests of one minute: all of them counted, and the newest. */
export const minuteRequests = message({
  startMs: time,
  endMs: time,
  counts: listOf(message({ source: z.string(), verdict: z.string(), requests: z.number() })),
  requests: listOf(
    message({
      ...pastRequest.unwrap().shape,
      /** HTTP status; null without a response. */
      status: z.number().nullable(),
      /** Null: of a list. */
      seriesId: z.number().nullable(),
      /** Of the series or the list. */
      name: z.string(),
    }),
  ),
});
export type MinuteRequests = z.output<typeof minuteRequests>;

const cells = listOf(z.string().nullable());
const key = listOf(z.string());

/** Entries of a polled list. Cells are text with every digit. */
export const listContents = message({
  /** Names of the columns of `key`, and of `cells` and `before`. */
  key,
  columns: listOf(z.string()),
  /** Entries of the list; `rows` has the first of them. */
  inAll: z.number(),
  rows: listOf(
    message({
      key,
      cells,
      /** The cells before the last change; null: there was none. */
      before: cells.nullable(),
      /** Time of the last change. */
      sinceMs: time,
    }),
  ),
  /** Entries that the source lists no more, the newest first. */
  gone: listOf(message({ key, sinceMs: time })),
});
export type ListContents = z.output<typeof listContents>;
