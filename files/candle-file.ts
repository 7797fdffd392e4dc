/**
 * Reads a candle file of another program, twice.
 *
 *   survey    reads every row from the first line on (`candle-survey.ts`). A file that breaks a rule of its format is
 *             rejected with the line, before anything of it is stored. The survey yields what the file covers.
 *   pages     yields the rows in ascending order. Their values are validated when they are stored.
 */

import { basename } from 'node:path';
import { sizeAt, writeNumeric } from '../model/binary/numeric.ts';
import type { CandleSeries } from '../model/series.ts';
import { type CandleFormat, type CandleFormatName, candleFormats } from './candle-formats.ts';
import type { CandleLines } from './candle-lines.ts';
import {
  type CandleRecord,
  cellsOf,
  csvRecordsBackward,
  jsonRecords,
  readLines,
  separatorIn,
} from './candle-records.ts';
import { CandleSurvey, volumesProblem } from './candle-survey.ts';
import { contentOf } from './content.ts';
import type { Separator } from './csv-fields.ts';
import { usablePages } from './formats.ts';
import { type FileRow, layouts, type ReadRow } from './layout.ts';
import { textAt } from './lines.ts';
import { type FilePage, PageCollector } from './point-pages.ts';

/** Of tuples. */
const pageBytes = 1 << 19;

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
  const lineCount = await surveyAll(path, format, separator, survey, query.beforePage);
  const { heading, records: count, newestMs, columns, isDescending, ...facts } = survey.end();
  const lines = isDescending ? null : survey.linesLikeThese(separator);
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
  /** The rows of the records, each once. */
  async function* pagesOfRecords(records: AsyncGenerator<CandleRecord[]>): AsyncGenerator<ReadRow[]> {
    let [skipped, left] = [isDescending ? 0 : heading, count];
    let lastMs: FileRow['time'] = null;
    for await (const page of records) {
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
  async function* pagesOfLines(): AsyncGenerator<FilePage> {
    const collector = new PageCollector(layouts.candles, 'line', pageBytes);
    collector.names = names;
    let skipped = heading;
    let lastMs: FileRow['time'] = null;
    const reading = readLines(contentOf(path, 'csv'), separator, {
      readLine(bytes, at, line) {
        const end = lines === null || skipped > 0 ? -1 : lines.read(bytes, at);
        if (lines === null || end < 0 || (facts.isNewestOpen && lines.ms === newestMs)) return -1;
        if (lines.ms !== lastMs) addTuple(collector, bytes, lines, line);
        lastMs = lines.ms;
        return end;
      },
      readRecord(record) {
        skipped -= 1;
        if (skipped >= 0) return;
        const row = rowOf(record);
        if (row.time !== lastMs) collector.addRow(row);
        lastMs = row.time;
      },
    });
    for await (const _ of reading) yield* collector.take();
  }
  function pages(): AsyncGenerator<FilePage> {
    if (format.syntax === 'json') return pagesOfRecords(jsonRecords(contentOf(path, 'json')));
    return isDescending ? pagesOfRecords(csvRecordsBackward(path, lineCount, separator)) : pagesOfLines();
  }
  return { ...facts, layout: layouts.candles, pages: () => usablePages(path, pages()) };
}

/** Surveys every row. @returns the lines of a CSV file. */
async function surveyAll(
  path: string,
  format: CandleFormat,
  separator: Separator,
  survey: CandleSurvey,
  beforePage: () => void,
): Promise<number> {
  const content = contentOf(path, format.syntax);
  if (format.syntax === 'json') {
    for await (const page of jsonRecords(content)) {
      beforePage();
      for (const record of page) survey.add(record);
    }
    return 0;
  }
  let lines: CandleLines | null = null;
  const reading = readLines(content, separator, {
    readLine(bytes, at) {
      const end = lines?.read(bytes, at) ?? -1;
      if (lines === null || end < 0) return -1;
      return survey.addLine(lines, () => cellsOf(textAt(bytes, at).text, separator) ?? []) ? end : -1;
    },
    readRecord(record) {
      survey.add(record);
      lines ??= survey.linesLikeThese(separator);
    },
  });
  for (;;) {
    const { done, value } = await reading.next();
    if (done === true) return value;
    beforePage();
  }
}

function addTuple(collector: PageCollector, bytes: Buffer, { ms, starts }: CandleLines, line: number): void {
  let end = collector.begin(ms);
  for (let column = 0; column < layouts.candles.values.length; column += 1) {
    writeNumeric(bytes, starts[column] ?? 0, collector.bytes, end);
    end += sizeAt(collector.bytes, end);
  }
  collector.keep(ms, end, line);
}
