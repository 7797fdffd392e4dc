/** Which tables are hypertables, and how they become ones. */

import type pg from 'pg';
import type { StorageSettings } from '../../config.ts';

export interface Hypertable {
  readonly name: string;
  readonly chunkDays: (settings: StorageSettings) => number;
  /** Column that names the line of points a row belongs to, where rows move to the columnstore with age. */
  readonly segmentBy: 'series_id' | 'currency_id' | 'listed_id' | null;
  /** Whether it gets an index on time alone beside its own. */
  readonly timeIndex: boolean;
}

export const hypertables: readonly Hypertable[] = Object.freeze([
  {
    name: 'candle_points',
    chunkDays: (settings: StorageSettings) => settings.chunkDays.candles,
    segmentBy: 'series_id',
    timeIndex: true,
  },
  {
    name: 'asset_history_points',
    chunkDays: (settings: StorageSettings) => settings.chunkDays.asset_history,
    segmentBy: 'series_id',
    timeIndex: true,
  },
  {
    name: 'rate_points',
    chunkDays: (settings: StorageSettings) => settings.chunkDays.rates,
    segmentBy: 'currency_id',
    timeIndex: true,
  },
  // Of assets, exchanges and the markets of an asset some thousand rows a poll at most, of all markets ten thousand.
  ...(
    [
      ['asset_states', 30],
      ['exchange_states', 30],
      ['market_states', 7],
      ['asset_market_states', 30],
    ] as const
  ).map(([name, days]) => ({
    name,
    chunkDays: () => days,
    segmentBy: 'listed_id' as const,
    timeIndex: false,
  })),
  // Few rows, of any age.
  { name: 'point_revisions', chunkDays: () => 360, segmentBy: null, timeIndex: true },
  // Kept for a month by default, and dropped by the day.
  { name: 'fetches', chunkDays: () => 1, segmentBy: null, timeIndex: false },
] satisfies Hypertable[]);

interface Present {
  readonly name: string;
  readonly chunk_days: number;
}

/**
 * Turns plain tables into hypertables, with every row, key and index, and sets the length of chunks to come. Chunks
 * that exist keep theirs. Within the caller's transaction; a table that is converted is locked until its end.
 *
 * @returns a line for each change.
 */
export async function shapeHypertables(client: pg.ClientBase, settings: StorageSettings): Promise<string[]> {
  const found = await client.query<Present>(
    `select hypertable_name as name, (extract(epoch from time_interval) / 86400)::double precision as chunk_days
     from timescaledb_information.dimensions
     where hypertable_schema = 'tidemark' and dimension_number = 1`,
  );
  const present = new Map(found.rows.map((row) => [row.name, row.chunk_days]));
  const changes: string[] = [];
  for (const table of hypertables) {
    const days = table.chunkDays(settings);
    const daysNow = present.get(table.name);
    if (daysNow === undefined) {
      await client.query(
        `select create_hypertable($1::regclass, by_range('time', make_interval(days => $2)),
                                  create_default_indexes => $3, migrate_data => true)`,
        [`tidemark.${table.name}`, days, table.timeIndex],
      );
      // What the planner knows of a table that was plain is about rows that are in chunks now.
      await client.query(`analyze tidemark.${table.name}`);
      changes.push(`converted tidemark.${table.name} to a hypertable with chunks of ${days} days`);
    } else if (daysNow !== days) {
      await client.query('select set_chunk_time_interval($1::regclass, make_interval(days => $2))', [
        `tidemark.${table.name}`,
        days,
      ]);
      changes.push(`new chunks of tidemark.${table.name} hold ${days} days, no longer ${daysNow}`);
    }
  }
  return changes;
}
