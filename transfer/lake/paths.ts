/**
 * Paths of a lake's files, in the style of Hive: `dataset=candles/exchange=binance/interval=m1/year=2024/month=1/`. A
 * partition holds one file for each series. Months have no zero in front: some readers would take `01` for text.
 * Characters other than lower-case letters, digits, `.`, `-` and `_` are percent-encoded, as Hive does: names of
 * sources may hold any, and some file systems ignore case.
 */

import { createHash } from 'node:crypto';
import { type DatasetName, datasetNames } from '../../model/datasets/index.ts';
import { isOfMarket, type SeriesKey } from '../../model/series.ts';

export const manifestName = 'manifest.json';

/** Identifies a series within a lake. */
export function seriesPath(series: SeriesKey): string {
  return lakePath(series, '');
}

/** @param month such as `2024-01`. @returns the path within the lake, with slashes. */
export function lakePath(series: SeriesKey, month: string): string {
  const [year = '', monthOfYear = ''] = month.split('-');
  const partition = [['dataset', series.dataset], ...namesOf(series)];
  const names = [...partition, ['year', year], ['month', monthOfYear.replace(/^0/, '')]];
  return `${joined(names)}/${fileName(series)}.parquet`;
}

/** A table of Iceberg for each dataset. Its files never change, so their names have a part of their checksum. */
export const tablePath = (dataset: DatasetName) => `${dataset}/`;

/** As {@link lakePath}, of a file in a table. */
export function tableFilePath(series: SeriesKey, month: string, sha256: string): string {
  const partition = joined([...namesOf(series), ['month', month]]);
  return `${tablePath(series.dataset)}data/${partition}/${fileName(series)}-${sha256.slice(0, 16)}.parquet`;
}

/** Whether a lake has written this. */
export function isOfLake(path: string): boolean {
  return path.startsWith('dataset=') || datasetNames.some((name) => path.startsWith(`${tablePath(name)}metadata/`));
}

type Named = readonly (readonly string[])[];

const namesOf = (series: SeriesKey): Named => [
  ...(isOfMarket(series) ? [['exchange', series.exchange]] : []),
  ['interval', series.interval],
];

const joined = (names: Named) => names.map(([key, value = '']) => `${key}=${shortened(encoded(value))}`).join('/');

function fileName(series: SeriesKey): string {
  const ids = isOfMarket(series) ? [series.baseId, series.quoteId] : [series.assetId];
  return shortened(ids.map((id) => encoded(id).replaceAll('_', '%5F')).join('_'));
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
