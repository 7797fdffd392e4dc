/** Recorded answers of a public service of this interface, from a folder beside the repository, if it exists. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';
import { describeMissing } from './parts/describe-needing.ts';

const directory = process.env.TIDEMARK_RECORDINGS ?? join(import.meta.dirname, '../../shared/recordings');

export const hasRecordings = existsSync(directory);

/** A group that reads recordings, skipped when there are none. */
export function describeRecordings(title: string, body: () => void): void {
  if (hasRecordings) describe(title, body);
  else describeMissing(title, `no folder ${directory}; TIDEMARK_RECORDINGS names another`, body);
}

/** The text of `<name>.json`, verbatim. */
export function recording(name: string): string {
  return recordingFile(`${name}.json`);
}

/** The text of a file, verbatim. */
export function recordingFile(name: string): string {
  return readFileSync(join(directory, name), 'utf8');
}

/** The recorded lists, and the resource of each. */
export const recordedLists = [
  { name: 'candles-binance-m1-bitcoin-tether-20211003-rows', resource: 'candle', rows: 1276, interval: 'm1' },
  { name: 'candles-binance-h8-polkadot-tether-20210329-20211002-rows', resource: 'candle', rows: 394, interval: 'h8' },
  { name: 'candles-binance-m30-polkadot-20210726', resource: 'candle', rows: 10, interval: 'm30' },
  { name: 'history-bitcoin-d1-default-with-gaps-20230301', resource: 'historyPoint', rows: 362 },
  { name: 'history-bitcoin-h1-default-20230303T1419Z', resource: 'historyPoint', rows: 720 },
  { name: 'rates-full-20211031', resource: 'rate', rows: 179 },
  { name: 'exchanges-full-20211031', resource: 'exchange', rows: 71 },
  { name: 'assets-default100-20211110', resource: 'asset', rows: 100 },
  { name: 'asset-markets-bitcoin-default100-20211031', resource: 'assetMarket', rows: 100 },
] as const;
