/** The tables that TimescaleDB divides into chunks. `schema/hypertables.ts` makes them so. */

export interface Hypertable {
  readonly name: string;
  /** Days in a chunk of a new store: measured in docs/storage.md. */
  readonly chunkDays: number;
  /** Column that identifies the series or entry of a row, for tables with a columnstore. */
  readonly segmentBy: 'series_id' | 'currency_id' | 'listed_id' | null;
  /** Whether it gets an additional index on time alone. */
  readonly timeIndex: boolean;
}

export const hypertables: readonly Hypertable[] = Object.freeze([
  { name: 'candle_points', chunkDays: 30, segmentBy: 'series_id', timeIndex: true },
  { name: 'rollup_hours', chunkDays: 30, segmentBy: 'series_id', timeIndex: false },
  { name: 'rollup_days', chunkDays: 360, segmentBy: 'series_id', timeIndex: false },
  { name: 'asset_history_points', chunkDays: 90, segmentBy: 'series_id', timeIndex: true },
  { name: 'rate_points', chunkDays: 30, segmentBy: 'currency_id', timeIndex: true },
  // Rows a poll: some thousand at most of assets, exchanges and the markets of an asset, ten thousand of all
  // markets.
  { name: 'asset_states', chunkDays: 30, segmentBy: 'listed_id', timeIndex: false },
  { name: 'exchange_states', chunkDays: 30, segmentBy: 'listed_id', timeIndex: false },
  { name: 'market_states', chunkDays: 7, segmentBy: 'listed_id', timeIndex: false },
  { name: 'asset_market_states', chunkDays: 30, segmentBy: 'listed_id', timeIndex: false },
  // Few rows, of any age.
  { name: 'point_revisions', chunkDays: 360, segmentBy: null, timeIndex: true },
  // Kept for a month by default, and dropped by the day.
  { name: 'fetches', chunkDays: 1, segmentBy: null, timeIndex: false },
]);

/** Days in a chunk of a table, unless its chunks have another length. */
export function chunkDaysOf(name: string): number {
  const table = hypertables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`${name} has no chunks`);
  return table.chunkDays;
}
