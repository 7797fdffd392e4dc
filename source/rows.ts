/** Readers of single rows, one a resource: what a row must be is the contract's schema. */

import type { z } from 'zod';
import type { CandleInterval } from '../contract/intervals.ts';
import * as resources from '../contract/resources.ts';
import { impossible } from './impossible-candle.ts';
import { plainCandle, plainHistoryPoint } from './plain-rows.ts';

/** Gives the row, or as a text the reason why the value is none. */
export type RowReader<Row extends object> = (value: unknown) => Row | string;

export const readAsset = bySchema(resources.asset);
export const readHistoryPoint = plainFirst(plainHistoryPoint, bySchema(resources.historyPoint));
export const readAssetMarket = bySchema(resources.assetMarket);
export const readMarket = bySchema(resources.market);
export const readExchange = bySchema(resources.exchange);
export const readRate = bySchema(resources.rate);
const readAnyCandle = plainFirst(plainCandle, bySchema(resources.candle));

export function candleReader(interval: CandleInterval): RowReader<resources.Candle> {
  return (value) => {
    const row = readAnyCandle(value);
    return typeof row === 'string' ? row : (impossible(row, interval) ?? row);
  };
}

/** Points come by the thousand an answer; all other rows by the schema alone. */
function plainFirst<Row extends object>(
  plain: (value: unknown) => Row | null,
  otherwise: RowReader<Row>,
): RowReader<Row> {
  return (value) => plain(value) ?? otherwise(value);
}

function bySchema<Row extends object>(schema: z.ZodType<Row>): RowReader<Row> {
  return (value) => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    if (issue === undefined) return 'not of the expected shape';
    const field = issue.path.join('.');
    return field === '' ? issue.message : `${field}: ${issue.message}`;
  };
}
