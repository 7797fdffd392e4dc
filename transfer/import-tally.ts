/** Counts the outcome of an import over all files. */

import { TidemarkError } from '../errors.ts';
import { counted, formatCount, formatTime } from '../model/format.ts';
import type { RejectedRow } from '../planning/answer.ts';
import type { StoredPiece } from './import-series.ts';
import type { FileDifference } from './queries/import-points.ts';

/** Differences and rejected rows in the report; the others are counted. */
const maxListed = 100;
/** Printed lines of each. */
const maxShown = 10;

export class ImportTally {
  readonly #counts = { fresh: 0, unchanged: 0, rewritten: 0, provisional: 0, revised: 0, differing: 0, refused: 0 };
  #missingInFile = 0;
  readonly #differences: Array<FileDifference & { series: string }> = [];
  readonly #refusals: Array<RejectedRow & { series: string | null }> = [];
  readonly #notes: Array<{ file: string; text: string }> = [];

  add(change: StoredPiece): void {
    for (const name of ['fresh', 'unchanged', 'rewritten', 'provisional', 'revised'] as const)
      this.#counts[name] += change[name];
    this.#counts.differing += change.differences.length;
    this.#missingInFile += change.differences.filter(({ inFile }) => inFile === null).length;
    const room = maxListed - this.#differences.length;
    this.#differences.push(...change.differences.slice(0, room).map((one) => ({ series: change.name, ...one })));
    this.refuse(change.name, change.refused);
  }

  refuse(series: string | null, refusals: readonly RejectedRow[]): void {
    this.#counts.refused += refusals.length;
    const room = maxListed - this.#refusals.length;
    this.#refusals.push(...refusals.slice(0, room).map((one) => ({ series, ...one })));
  }

  /** Reports a fact about a file that does not keep it from being imported. */
  note(file: string, text: string): void {
    this.#notes.push({ file, text });
  }

  /** Rows that are in the database now, or were before. */
  get stored(): number {
    const { fresh, unchanged, provisional, revised } = this.#counts;
    return fresh + unchanged + provisional + revised;
  }

  asText(files: number, took: string): string {
    const parts = [
      this.#counts.revised > 0
        ? `${formatCount(this.#counts.revised)} overwritten, the old values kept as revisions`
        : '',
      this.#counts.provisional > 0 ? `${formatCount(this.#counts.provisional)} of open candles replaced` : '',
      this.#counts.rewritten > 0
        ? `${formatCount(this.#counts.rewritten)} written with other digits and kept as first received`
        : '',
    ].filter((part) => part !== '');
    const more = parts.length === 0 ? '' : `, ${parts.join(', ')}`;
    return [
      ...this.#lines(),
      `imported ${counted(files, 'file')}: ${counted(this.#counts.fresh, 'new point')}, ` +
        `${formatCount(this.#counts.unchanged)} unchanged${more}; ${took}`,
    ].join('\n');
  }

  asDryText(files: number): string {
    return [...this.#lines(), `read ${counted(files, 'file')}; nothing is stored`].join('\n');
  }

  #lines(): string[] {
    return [
      ...this.#notes.map(({ file, text }) => `${file}: ${text}`),
      ...this.#differences.slice(0, maxShown).map(differenceText),
      ...this.#refusals
        .slice(0, maxShown)
        .map(
          ({ series, raw, reason }) =>
            `rejected row${series === null ? '' : ` in ${series}`}: ${reason}: ${raw.slice(0, 200)}`,
        ),
    ];
  }

  asJson(files: number) {
    return {
      files,
      ...this.#counts,
      differences: this.#differences.map(({ timeMs, ...one }) => ({ ...one, time: new Date(timeMs).toISOString() })),
      refusals: this.#refusals,
      notes: this.#notes,
    };
  }

  /** @throws TidemarkError ROWS_REFUSED, IMPORT_DIFFERS unless all rows are stored with the values of the files. */
  assertComplete({ isDry = false } = {}): void {
    const [refusal] = this.#refusals;
    if (refusal !== undefined) {
      throw new TidemarkError(
        'ROWS_REFUSED',
        `${counted(this.#counts.refused, 'row')} rejected, first: ${refusal.reason}`,
        isDry ? { remedy: 'an import stores the others, and does not cover the periods of these' } : {},
      );
    }
    if (this.#counts.differing === 0) return;
    const missing =
      this.#missingInFile === 0 ? '' : `, ${formatCount(this.#missingInFile)} of them missing in the file`;
    throw new TidemarkError(
      'IMPORT_DIFFERS',
      `${counted(this.#counts.differing, 'stored point')} differ${this.#counts.differing === 1 ? 's' : ''} from ` +
        `the file${missing}`,
      this.#missingInFile === this.#counts.differing
        ? { remedy: 'a stored point that the file does not have is never deleted' }
        : {},
    );
  }
}

function differenceText({ series, timeMs, stored, inFile }: FileDifference & { series: string }): string {
  const columns = Object.keys({ ...stored, ...inFile }).filter(
    (column) => inFile === null || stored[column] !== inFile[column],
  );
  const text = columns
    .map(
      (column) =>
        `${column} stored ${stored[column] ?? null}${inFile === null ? '' : `, in the file ${inFile[column]}`}`,
    )
    .join('; ');
  return `${series}  ${formatTime(timeMs)}  ${text}${inFile === null ? ', missing in the file' : ''}`;
}
