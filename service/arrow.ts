/** Points of the service as a stream of Arrow. */

import { ArrowPoints } from '../files/arrow.ts';
import { ValueMisfit } from '../files/decimals/decimal-type.ts';
import { datasetOf } from '../model/datasets/index.ts';
import type { SeriesKey } from '../model/series.ts';
import { writeCoverage } from '../v2/coverage-header.ts';
import type { JsonText, SeriesAnswer } from './market-data.ts';
import { ServiceRefusal } from './response.ts';

/**
 * @param answer with the rows of `MarketData.points`.
 * @throws ServiceRefusal 406 for a value that the type of the columns cannot hold.
 */
export async function arrowOf(series: SeriesKey, { rows, coverage, derivedFrom }: SeriesAnswer): Promise<Buffer> {
  const { interval, ...names } = series;
  const metadata = new Map<string, string>([
    ...Object.entries({ ...names, interval }),
    ...(coverage === undefined ? [] : ([['coverage', writeCoverage(coverage)]] as const)),
    ...(derivedFrom === undefined ? [] : ([['derivedFrom', derivedFrom]] as const)),
  ]);
  try {
    return await pointsOf(series, rows).end(metadata);
  } catch (error) {
    if (!(error instanceof ValueMisfit)) throw error;
    throw new ServiceRefusal(406, `${error.message}: request application/json, which has all digits`);
  }
}

const [quote, zero, nine, brace] = [34, 48, 57, 125] as const;

/** Reads the text in the form in which the service's statements write it. */
function pointsOf({ dataset }: SeriesKey, rows: JsonText): ArrowPoints {
  const { columns, timeField } = datasetOf(dataset);
  const text = Buffer.from(rows);
  // Before a value stands `{"open":`, `,"high":`, ...
  const keys = columns.map(({ json }) => json.length + 4);
  const starts = new Int32Array(columns.length);
  const values = columns.map(({ json, isOptional = false }) => ({ name: json, isOptional }));
  const points = new ArrowPoints({ time: timeField, values, rows: countOf(text, brace) });
  let at = 1;
  while (at < text.length - 1) {
    for (let column = 0; column < keys.length; column += 1) {
      at += keys[column] ?? 0;
      const isText = text[at] === quote;
      starts[column] = isText ? at + 1 : -1;
      at = isText ? text.indexOf(quote, at + 1) + 1 : at + 'null'.length;
    }
    at += timeField.length + 4;
    let timeMs = 0;
    for (let byte = text[at] ?? 0; byte >= zero && byte <= nine; byte = text[++at] ?? 0)
      timeMs = timeMs * 10 + byte - zero;
    if (text[at] !== brace) throw new Error(`points of ${dataset} have another form`);
    points.take(timeMs, text, starts);
    at += 2;
  }
  return points;
}

function countOf(bytes: Buffer, byte: number): number {
  let count = 0;
  for (let at = bytes.indexOf(byte); at >= 0; at = bytes.indexOf(byte, at + 1)) count += 1;
  return count;
}
