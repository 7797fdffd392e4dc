/**
 * What a file of points cannot say itself, in a JSON file beside it: which range was asked for, what of it is covered,
 * what is confirmed to be empty and what is missing, as of when. It names the file by its SHA-256: a file that was
 * changed is none that it vouches for.
 */

import { z } from 'zod';
import { candleIntervals, historyIntervals } from '../contract/intervals.ts';
import { fileFormats } from './layout.ts';

/** Beside `candles.csv` lies `candles.csv.meta.json`. */
export function sidecarPath(path: string): string {
  return `${path}.meta.json`;
}

const time = z.iso.datetime().transform((text) => Date.parse(text));
/** `[from, to)`. */
const range = z
  .object({ from: time, to: time })
  .refine(({ from, to }) => from < to, 'a range that does not begin before its end')
  .transform(({ from, to }) => ({ startMs: from, endMs: to }));
const ranges = z.array(range);
const gap = z.object({ from: z.string(), to: z.string(), reason: z.string() });

const knowledge = {
  range,
  /** What was tracked where it was exported; an open end is null. */
  tracked: z.object({ from: time, to: time.nullable() }),
  points: z.int().min(0),
  coverage: ranges,
  /** Of the coverage: two answers agreed that there is nothing. */
  confirmedEmpty: ranges,
  /** Of the confirmed empty: asked for by days only, before the beginning of the series. */
  beforeBeginning: ranges,
  gaps: z.array(gap),
};

export const candleKnowledge = z.object({
  exchange: z.string(),
  base: z.string(),
  quote: z.string(),
  interval: z.enum(candleIntervals),
  ...knowledge,
});
export const historyKnowledge = z.object({
  asset: z.string(),
  interval: z.enum(historyIntervals),
  ...knowledge,
});
export const rateKnowledge = z.object({
  currency: z.string(),
  points: z.int().min(0),
  first: time,
  last: time,
});

const facts = {
  tidemark: z.literal('export'),
  version: z.literal(1),
  madeBy: z.string(),
  exportedAt: time,
  file: z.object({
    name: z.string(),
    format: z.enum(fileFormats),
    rows: z.int().min(0),
    bytes: z.int().min(0),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
};

export const sidecar = z.discriminatedUnion('dataset', [
  z.object({ ...facts, dataset: z.literal('candles'), series: z.array(candleKnowledge) }),
  z.object({ ...facts, dataset: z.literal('asset_history'), series: z.array(historyKnowledge) }),
  z.object({ ...facts, dataset: z.literal('rates'), series: z.array(rateKnowledge) }),
]);

/** As read: times are milliseconds, and ranges those of `planning/ranges.ts`. */
export type Sidecar = z.output<typeof sidecar>;
/** As written. */
export type SidecarText = z.input<typeof sidecar>;
