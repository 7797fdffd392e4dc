import { expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { OfferFacts } from '../../model/sources.ts';
import { gapsFor } from '../../planning/source-share.ts';

const nowMs = Date.UTC(2026, 10, 27, 12);
const files = { unit: 'day', lagMs: 2 * dayMs } as const;
const series = {
  ...{ dataset: 'open_interest', exchange: 'binance', baseId: 'BTC', quoteId: 'USDT:USDT', interval: 'm5' },
} as SeriesKey;
const offers: OfferFacts[] = [
  {
    ...{ dataset: 'open_interest', depth: { ms: 30 * dayMs }, cost: 1, absence: 'unknown' },
    longestRangeMs: { m5: 500 * 5 * minuteMs, d1: 500 * dayMs },
  },
];
const summer = { startMs: Date.UTC(2026, 5, 23), endMs: Date.UTC(2026, 7, 12) };
const entry = {
  ...{ seriesId: 1, series, gaps: [summer], reachesNow: false, refreshDue: false, newestMs: null },
  ...{ closedUpToMs: nowMs, trackedFromMs: summer.startMs },
  beginning: { knownMs: null, mayProbe: true, isAsked: false },
} as Parameters<typeof gapsFor>[0];
const longestRangeMs = ({ interval }: SeriesKey) => offers[0]?.longestRangeMs[interval] ?? dayMs;

test('an archive gives all where the source after it keeps too little to find the beginning, and nothing is lost', () => {
  const archive = {
    files,
    nextOffers: offers,
    offers: offers.map((offer) => ({ ...offer, depth: null })),
    longestRangeMs,
  };
  const ofArchive = gapsFor(entry, archive, { better: [], hasNext: true, lacks: [] }, nowMs);
  expect([ofArchive.open.gaps, ofArchive.lost]).toEqual([[summer], []]);
  const live = { files: null, offers, archives: new Map([['archive', files]]), longestRangeMs };
  const place = { better: ['archive'], hasNext: false };
  const ofLive = gapsFor(entry, live, { ...place, lacks: [] }, nowMs);
  expect([ofLive.open.gaps, ofLive.lost]).toEqual([[], []]);
  // What the archive lacks is lost.
  expect(gapsFor(entry, live, { ...place, lacks: [summer] }, nowMs).lost).toEqual([summer]);
});
