/** What is tracked in the month: twenty series that go on, and four hundred whose past is fetched. */

import { stringify } from 'yaml';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import { assetPlans, marketPlans, untradedAsset } from '../../simulator/catalogue.ts';

const date = (ms: EpochMs) => new Date(ms).toISOString().slice(0, 10);
const yearMs = 365 * dayMs;

/** The first of each go on by the minute, and as many others by the hour. */
const liveMarkets = 6;
const liveAssets = 4;

/** How many years back, by interval: about as many requests each. */
const years = { m5: 2, m15: 4, m30: 6, h1: 9, h2: 9, h12: 9, d1: 9 };
const ofCandles = { ...years, h4: 9, h8: 9, w1: 9 };
const ofHistory = { ...years, h6: 9 };
const minutesBack = { m1: 0.3 };

/** @param share of the past that is fetched. */
export function watchListFrom(startMs: EpochMs, share: number): string {
  const from = date(startMs - dayMs);
  const byMinute = [{ interval: 'm1', from }];
  const byHour = [{ interval: 'h1', from }];
  const past = (back: Readonly<Record<string, number>>) =>
    Object.entries(back).map(([interval, years]) => ({
      interval,
      from: date(startMs - Math.max(30 * dayMs, years * yearMs * share)),
      to: date(startMs),
    }));
  const entries = (place: number, live: number, back: Readonly<Record<string, number>>) =>
    place < live
      ? [...byMinute, ...past(back)]
      : [...(place < 2 * live ? byHour : []), ...past({ ...minutesBack, ...back })];
  const candles = marketPlans.flatMap(({ exchangeId, baseId, quoteId }, place) =>
    entries(place, liveMarkets, ofCandles).map((one) => ({
      ...{ exchange: exchangeId, base: baseId, quote: quoteId },
      ...one,
    })),
  );
  const history = assetPlans.flatMap(({ id }, place) =>
    entries(place, liveAssets, ofHistory).map((one) => ({ asset: id, ...one })),
  );
  const silent = past(ofHistory).map((one) => ({ asset: untradedAsset.id, ...one }));
  return stringify({ lists: { rates: '30m' }, candles, history: [...history, ...silent] });
}
