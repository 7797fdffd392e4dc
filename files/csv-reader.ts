/** Reads CSV of `export`: the usual lines from their bytes (`csv-points.ts`), and any other one as text. */

import type { StoredDataset } from '../model/stored-datasets.ts';
import { contentOf } from './content.ts';
import { type CsvRecord, CsvRecords } from './csv-fields.ts';
import { csvPoints } from './csv-points.ts';
import { FileProblem } from './file-problem.ts';
import { columnsOf, type Layout, layoutOf, type ReadRow, rowOf } from './layout.ts';
import { cutOff, textAt, wholeLines } from './lines.ts';
import { type FilePage, PageCollector, type RowFile } from './point-pages.ts';

/** Of tuples, which are about as long as their lines. */
const pageBytes = 1 << 19;

/** @throws FileProblem when it is not a CSV file of an export. */
export async function readCsv(path: string, dataset: StoredDataset | null): Promise<RowFile> {
  const header = await headerOf(path);
  const layout = layoutOf(header, dataset);
  const places = columnsOf(layout).map((name) => header.indexOf(name));
  const readRow = ({ line, raw, fields, isWhole }: CsvRecord): ReadRow => {
    const refused = (reason: string) => ({ raw, reason: `line ${line}: ${reason}` });
    if (!isWhole) return refused(cutOff);
    if (fields === null) return refused('unbalanced quotes');
    if (fields.length !== header.length) return refused(`it has ${fields.length} fields, not ${header.length}`);
    return rowOf(
      layout,
      places.map((place) => fields[place] ?? null),
      `line ${line}`,
    );
  };
  return { layout, pages: () => pagesOf(path, layout, header, readRow) };
}

/** The first record. */
async function headerOf(path: string): Promise<string[]> {
  const records = new CsvRecords();
  for await (const { bytes, isWhole } of wholeLines(contentOf(path, 'csv'))) {
    for (let at = 0; at < bytes.length; ) {
      const { text, next } = textAt(bytes, at);
      const record = records.add(text, isWhole);
      if (record?.fields) return record.fields.map((field) => field?.trim() ?? '');
      if (record !== null) throw noHeader();
      at = next;
    }
  }
  throw noHeader();
}

const noHeader = () => new FileProblem('it has no header', 'add the line with the names of its columns');

async function* pagesOf(
  path: string,
  layout: Layout,
  header: readonly string[],
  readRow: (record: CsvRecord) => ReadRow,
): AsyncGenerator<FilePage> {
  const pages = new PageCollector(layout, 'line', pageBytes);
  const points = csvPoints(layout, header, pages);
  const records = new CsvRecords();
  let isHeader = true;
  for await (const { bytes, isWhole } of wholeLines(contentOf(path, 'csv'))) {
    for (let at = 0; at < bytes.length; ) {
      const mayBePoint = points !== null && isWhole && !isHeader && !records.isOpen;
      const end = mayBePoint ? points.readLine(bytes, at, records.line + 1) : -1;
      if (end >= 0) {
        records.line += 1;
        at = end;
        continue;
      }
      const { text, next } = textAt(bytes, at);
      const record = records.add(text, isWhole);
      if (record !== null && !isHeader) {
        const row = readRow(record);
        // Its names may be all that kept it from being read as the lines that follow.
        const isNew = mayBePoint && 'names' in row && points.expect(row.names);
        if (!isNew || points.readLine(bytes, at, records.line) < 0) pages.addRow(row);
      }
      isHeader &&= record === null;
      at = next;
    }
    yield* pages.take();
  }
  const open = records.end();
  if (open !== null) yield [readRow(open)];
}
