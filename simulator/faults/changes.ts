/** Changes over time: listings that appear, vanish and are renamed, a growing supply, and revisions on request. */

import { datasets } from '../../model/datasets/index.ts';
import { dayMs, type EpochMs, hourMs } from '../../model/intervals.ts';
import { type SeriesKey, seriesName, type TimeRange } from '../../model/series.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import type { MarketPlan } from '../catalogue.ts';

/** An asset and an exchange that are listed only at times and have no markets. */
export const intermittentAsset = Object.freeze({ id: 'nomadcoin', symbol: 'NMD', name: 'NomadCoin' });
export const intermittentExchange = Object.freeze({ id: 'caravan', name: 'Caravan' });

const renamedMs: EpochMs = Date.UTC(2024, 6, 1);

/** They and one market are unlisted from 06:00 to 12:00 UTC. */
export function isIntermittentListed(nowMs: EpochMs): boolean {
  const hour = Math.floor((nowMs % dayMs) / hourMs);
  return hour < 6 || hour >= 12;
}

export function isListed({ exchangeId, baseId }: MarketPlan, nowMs: EpochMs): boolean {
  return !(exchangeId === 'bitso' && baseId === 'xrp') || isIntermittentListed(nowMs);
}

export function intermittentAssetName(nowMs: EpochMs): string {
  return nowMs < renamedMs ? intermittentAsset.name : `${intermittentAsset.name} (new)`;
}

const minedADay = 450;
const fullSupplyMs: EpochMs = Date.UTC(2030, 0, 1);

/** Bitcoins that are not mined yet. */
export function unminedSupply(assetId: string, nowMs: EpochMs): number {
  if (assetId !== 'bitcoin') return 0;
  return Math.max(0, Math.ceil((fullSupplyMs - nowMs) / dayMs)) * minedADay;
}

/** A changed value of one series. Other series with the same time do not change. */
export interface Revision {
  readonly series: SeriesKey;
  /** Start of the candle, or time of the history point. */
  readonly timeMs: EpochMs;
  /** The changed fields, or all fields of a new point; null deletes the point. */
  readonly values: Partial<Omit<Candle, 'period'>> | Partial<Omit<HistoryPoint, 'time'>> | null;
  /** Start of the revision by the service's clock. */
  readonly fromMs: EpochMs;
}

export class Revisions {
  readonly #bySeries = new Map<string, Revision[]>();

  /** A later revision of a point overrides an earlier one. */
  add(revision: Revision): void {
    const name = `${revision.series.dataset} ${seriesName(revision.series)}`;
    this.#bySeries.set(name, [...(this.#bySeries.get(name) ?? []), revision]);
  }

  /** The rows as of `nowMs`. */
  applyTo<Row extends Candle | HistoryPoint>(rows: Row[], series: SeriesKey, range: TimeRange, nowMs: EpochMs): Row[] {
    const { timeField } = datasets[series.dataset];
    const timeOf = (row: Row): EpochMs => ('period' in row ? row.period : row.time);
    const known = this.#bySeries.get(`${series.dataset} ${seriesName(series)}`) ?? [];
    const valid = known.filter(
      ({ fromMs, timeMs }) => fromMs <= nowMs && timeMs >= range.startMs && timeMs < range.endMs,
    );
    if (valid.length === 0) return rows;
    const byTime = new Map(rows.map((row) => [timeOf(row), row]));
    for (const { timeMs, values } of valid) {
      if (values === null) byTime.delete(timeMs);
      else byTime.set(timeMs, { ...byTime.get(timeMs), ...values, [timeField]: timeMs } as Row);
    }
    return [...byTime.values()].sort((a, b) => timeOf(a) - timeOf(b));
  }
}
