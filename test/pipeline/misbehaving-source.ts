/** A source that serves the simulator's data, minus the rows that a misbehaviour removes from each answer. */

import type { EpochMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import type { Truth } from '../../simulator/simulator.ts';
import { type LocalServer, serve } from '../source/local-server.ts';

export type Row = ReturnType<Truth['candles']>[number] | ReturnType<Truth['history']>[number];

export interface Asked {
  readonly range: Range;
  /** The number of requests before this one. */
  readonly place: number;
}

/** The remaining rows of an answer. Null: status 500. */
export type Misbehaviour = (rows: readonly Row[], asked: Asked) => readonly Row[] | null;

/** Serves these series by the clock. */
export async function serveMisbehaving(
  parts: { readonly truth: Truth; readonly series: readonly SeriesKey[]; readonly now: () => EpochMs },
  misbehave: Misbehaviour,
): Promise<LocalServer> {
  let place = 0;
  return serve((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const word = (name: string) => url.searchParams.get(name);
    const range = { startMs: Number(word('start')), endMs: Number(word('end')) };
    const series = parts.series.find((one) =>
      one.interval !== word('interval')
        ? false
        : one.dataset === 'asset_history'
          ? url.pathname.endsWith(`/assets/${one.assetId}/history`)
          : url.pathname.endsWith('/candles') &&
            word('exchange') === one.exchange &&
            word('baseId') === one.baseId &&
            word('quoteId') === one.quoteId,
    );
    response.setHeader('content-type', 'application/json');
    if (series === undefined) {
      response.writeHead(404).end('{"error":"not found","timestamp":0}');
      return;
    }
    const all =
      series.dataset === 'candles' ? parts.truth.candles(series, range) : parts.truth.history(series, range);
    const data = misbehave(all, { range, place });
    place += 1;
    if (data === null) response.writeHead(500).end('{"error":"internal","timestamp":0}');
    else response.end(JSON.stringify({ data, timestamp: parts.now() }));
  });
}

export function timeOfRow(row: object): EpochMs {
  if ('period' in row) return Number(row.period);
  if ('time' in row) return Number(row.time);
  throw new Error('a row without a time');
}
