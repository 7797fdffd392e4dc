/**
 * Reads a candle file of another program, twice.
 *
 *   survey    reads every row from the first line on (`candle-survey.ts`). A file that breaks a rule of its format is
 *             rejected with the line, before anything of it is stored. The survey yields what the file covers.
 *   pages     yields the rows in ascending order. Their values are validated when they are stored.
 */

import { basename } from 'node:path';
import type { CandleSeries } from '../model/series.ts';
import { type CandleFormat, type CandleFormatName, candleFormats } from './candle-formats.ts';
import { type CandleRecord, csvRecords, csvRecordsBackward, jsonRecords, separatorIn } from './candle-records.ts';
import { CandleSurvey, volumesProblem } from './candle-survey.ts';
import { contentOf } from './content.ts';
import { usablePages } from './formats.ts';
import { type FileRow, layouts, type ReadRow } from './layout.ts';

export interface CandleFileQuery {
  readonly format: CandleFormatName | CandleFormat;
  readonly series: CandleSeries;
  /** Called between pages of the survey. @throws to stop. */
  readonly beforePage: () => void;
}

/**
 * @throws FileProblem for a file that breaks a rule of its format; TidemarkError FILE_NOT_USABLE from the reading of
 * the pages.
 */
export async function openCandleFile(path: string, query: CandleFileQuery) {
  const format = typeof query.format === 'string' ? candleFormats[query.format] : query.format;
  const { exchange, baseId, quoteId, interval } = query.series;
  const survey = new CandleSurvey(format, query.series, basename(path));
  const separator = format.hasAnySeparator ? await separatorIn(contentOf(path, 'csv')) : ',';
  const records = (read = { lines: 0 }) => {
    const content = contentOf(path, format.syntax);
    return format.syntax === 'json' ? jsonRecords(content) : csvRecords(content, read, separator);
  };
  const read = { lines: 0 };
  for await (const page of records(read)) {
    query.beforePage();
    for (const record of page) survey.add(record);
  }
  const { heading, records: count, newestMs, columns, isDescending, ...facts } = survey.end();
  const names = [exchange, baseId, quoteId, interval];
  const rowOf = ({ place, cells }: CandleRecord): FileRow => {
    const problem = volumesProblem(cells, columns);
    const time = format.readTime(cells[columns.time] ?? null)?.ms ?? null;
    return {
      names,
      time,
      values: columns.values.map((at) => cells[at] ?? null),
      place,
      ...(problem !== null && { problem }),
      ...(facts.isNewestOpen && time === newestMs && { mayBeOpen: true }),
    };
  };
  async function* pages(): AsyncGenerator<ReadRow[]> {
    let [skipped, left] = [isDescending ? 0 : heading, count];
    let lastMs: FileRow['time'] = null;
    const all = isDescending ? csvRecordsBackward(path, read.lines, separator) : records();
    for await (const page of all) {
      const found = page.slice(skipped, skipped + left);
      skipped -= Math.min(skipped, page.length);
      left -= found.length;
      yield found.map(rowOf).filter((row) => {
        const isRepeated = row.time === lastMs;
        lastMs = row.time;
        return !isRepeated;
      });
      if (left === 0) return;
    }
  }
  return { ...facts, layout: layouts.candles, pages: () => usablePages(path, pages()) };
}
