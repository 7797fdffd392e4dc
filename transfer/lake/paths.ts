/**
 * Paths of a lake's files, in the style of Hive: `dataset=candles/exchange=binance/interval=m1/year=2024/month=1/`. A
 * partition holds one file for each series. Months have no zero in front: some readers would take `01` for text.
 * Characters other than lower-case letters, digits, `.`, `-` and `_` are percent-encoded, as Hive does: names of
 * sources may hold any, and some file systems ignore case.
 */

import { createHash } from 'node:crypto';
import { isOfMarket, type SeriesKey } from '../../model/series.ts';

export const manifestName = 'manifest.json';

/** Identifies a series within a lake. */
export function seriesPath(series: SeriesKey): string {
  return lakePath(series, '');
}

/** @param month such as `2024-01`. @returns the path within the lake, with slashes. */
export function lakePath(series: SeriesKey, month: string): string {
  const [year, monthOfYear] = month.split('-');
  const names: Array<[key: string, value: string]> = [
    ['dataset', series.dataset],
    ...(isOfMarket(series) ? [['exchange', series.exchange] as [string, string]] : []),
    ['interval', series.interval],
    ['year', year ?? ''],
    ['month', (monthOfYear ?? '').replace(/^0/, '')],
  ];
  const partition = names.map(([key, value]) => `${key}=${shortened(encoded(value))}`).join('/');
  const file = isOfMarket(series) ? [series.baseId, series.quoteId] : [series.assetId];
  return `${partition}/${shortened(file.map((id) => encoded(id).replaceAll('_', '%5F')).join('_'))}.parquet`;
}

function encoded(name: string): string {
  return [...Buffer.from(name)]
    .map((byte, at) => {
      const character = String.fromCharCode(byte);
      const isPlain = /[a-z0-9_-]/.test(character) || (character === '.' && at > 0);
      return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** File systems take 255 bytes, and the part of a file needs some of them. */
const longest = 200;

/** A name that is too long ends in its digest. */
function shortened(name: string): string {
  if (name.length <= longest) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${name.slice(0, longest - 17).replace(/%.?$/, '')}_${digest}`;
}
