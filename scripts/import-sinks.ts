/** Where the rows of a file go: to their series, one after the other, or to their currencies. */

import type { FileRow, Layout, Names } from '../files/layout.ts';
import type { ReadRow } from '../files/row-reader.ts';
import { storeRates } from '../store/import/rates.ts';
import { quarantineStrays } from '../store/import/strays.ts';
import type { CountedSeries } from './import-count.ts';
import { type Refusal, rateOf, seriesNamed, type TimedRate } from './import-rows.ts';
import { type ImportContext, SeriesImport } from './import-series.ts';
import type { ImportTally } from './import-tally.ts';

type Destination = ImportContext & { readonly tally: ImportTally };

export interface Sink {
  take(page: readonly ReadRow[]): Promise<void>;
  end(): Promise<void>;
}

/** Rows of a series lie together; where they do not, those that come later are out of order, and refused. */
export function seriesSink(
  options: Destination,
  layout: Layout,
  counted: readonly CountedSeries[] | null,
): Sink {
  const { database, tally } = options;
  const waiting = new Map(counted?.map((one) => [JSON.stringify(one.names), one]));
  let current: { names: Names; series: SeriesImport } | null = null;
  let strays: Refusal[] = [];

  async function endCurrent(): Promise<void> {
    if (current !== null) tally.add(await current.series.end());
    current = null;
  }
  async function seriesOf(row: FileRow): Promise<SeriesImport | string> {
    if (current !== null && isSame(current.names, row.names)) return current.series;
    const series = seriesNamed(layout, row.names);
    if (typeof series === 'string') return series;
    const key = JSON.stringify(row.names);
    const known = waiting.get(key);
    if (counted !== null && known === undefined) return 'the sidecar does not name this series here';
    await endCurrent();
    waiting.delete(key);
    current = { names: row.names, series: new SeriesImport(options, series, known ?? null) };
    return current.series;
  }
  async function storeStrays(): Promise<void> {
    await quarantineStrays(database, { dataset: layout.dataset, rows: strays, seenAtMs: Date.now() });
    tally.refuse(null, strays);
    strays = [];
  }
  return {
    async take(page) {
      for (const row of page) {
        const series = 'raw' in row ? row.reason : await seriesOf(row);
        if (typeof series === 'string' || 'raw' in row) {
          strays.push(strayOf(row, String(series)));
          continue;
        }
        const stored = await series.add(row);
        if (stored !== null) tally.add(stored);
      }
      await storeStrays();
    },
    async end() {
      await endCurrent();
      // Those of which there is no point: all that is known of them is coverage.
      for (const one of waiting.values()) {
        tally.add(await new SeriesImport(options, one.series, one).end());
      }
    },
  };
}

export function rateSink({ database, tally }: Destination): Sink {
  async function store(rows: readonly TimedRate[], refused: readonly Refusal[]): Promise<void> {
    const result = await storeRates(database, { rows, refused, nowMs: Date.now() });
    tally.add({ ...result, name: rows[0]?.rate.id ?? 'rates', refused });
  }
  return {
    async take(page) {
      const byCurrency = new Map<string, Map<number, TimedRate>>();
      const refused: Refusal[] = [];
      for (const row of page) {
        if ('raw' in row) {
          refused.push(row);
          continue;
        }
        const read = rateOf(row);
        if (read.row === null) {
          refused.push(read.refusal);
          continue;
        }
        const rates = byCurrency.get(read.row.rate.id) ?? new Map<number, TimedRate>();
        byCurrency.set(read.row.rate.id, rates);
        if (read.row.timeMs > Date.now()) refused.push({ raw: read.raw, reason: 'time: lies in the future' });
        else if (rates.has(read.row.timeMs)) refused.push({ raw: read.raw, reason: 'given twice' });
        else rates.set(read.row.timeMs, read.row);
      }
      for (const rates of byCurrency.values()) if (rates.size > 0) await store([...rates.values()], []);
      if (refused.length > 0) await store([], refused);
    },
    end: async () => {},
  };
}

function strayOf(row: ReadRow, reason: string): Refusal {
  return 'raw' in row ? row : { raw: JSON.stringify(row), reason };
}

function isSame(a: Names, b: Names): boolean {
  return a.every((name, place) => name === b[place]);
}
