/** Settings of PostgreSQL's planner, of Tidemark's own sessions, of its viewers, and of the role that migrates. */

export interface PlannerSetting {
  readonly name: string;
  readonly value: string;
  /** The default, which is changed. Any other value is somebody's choice. */
  readonly from: string;
}

export const plannerSettings: readonly PlannerSetting[] = [
  // A view plans every level of the rollups. Compiling them took 111 of 123 s of a query of 20,667 candles.
  { name: 'jit', from: 'on', value: 'off' },
  // TimescaleDB 2.28 cannot plan `candles(...)` with bounds from a row beside it where it prefers a bitmap scan of the
  // columnstore ("could not create decompression path"): such paths are left out, after they have displaced all others
  // (columnar_scan.c). An index scan reads the same batches.
  { name: 'enable_bitmapscan', from: 'on', value: 'off' },
  // Of a series beside others the planner knows only how many rows they have on average. Where one of minutes is among
  // days, it read the newest chunk whole for each: 26 series of days took 0.7 s instead of 20 ms.
  { name: 'random_page_cost', from: '4', value: '1.1' },
];
