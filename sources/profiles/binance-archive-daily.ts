/**
 * The files of days in Binance's archive. They are there a day or two after their end, and were made apart from those
 * of months, which sometimes disagree with them (github.com/binance/binance-public-data, issue 475).
 */

import { dayMs } from '../../model/intervals.ts';
import { binanceFiles } from './binance-archive.ts';

export const binanceArchiveDaily = binanceFiles('binance-archive-daily', { unit: 'day', lagMs: 2 * dayMs }, dayMs);
