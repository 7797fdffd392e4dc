/** What came of an import, over all of its files. */

import { TidemarkError } from '../errors.ts';
import type { FileDifference } from '../store/import/compare.ts';
import type { Refusal } from './import-rows.ts';
import { count, counted, moment } from './wording.ts';

interface Change {
  readonly name: string;
  readonly fresh: number;
  readonly unchanged: number;
  readonly rewritten: number;
  readonly provisional?: number;
  readonly revised?: number;
  readonly differences: readonly FileDifference[];
  readonly refused: readonly Refusal[];
}

/** Differences and refusals that are listed; the others are counted. */
const mostListed = 100;
/** Of those, what is printed for people. */
const mostShown = 10;

export class ImportTally {
  #fresh = 0;
  #unchanged = 0;
  #rewritten = 0;
  #provisional = 0;
  #revised = 0;
  #differing = 0;
  #missingInFile = 0;
  #refused = 0;
  readonly #differences: Array<FileDifference & { series: string }> = [];
  readonly #refusals: Array<Refusal & { series: string | null }> = [];

  add(change: Change): void {
    this.#fresh += change.fresh;
    this.#unchanged += change.unchanged;
    this.#rewritten += change.rewritten;
    this.#provisional += change.provisional ?? 0;
    this.#revised += change.revised ?? 0;
    this.#differing += change.differences.length;
    this.#missingInFile += change.differences.filter(({ inFile }) => inFile === null).length;
    const room = mostListed - this.#differences.length;
    this.#differences.push(
      ...change.differences.slice(0, room).map((one) => ({ series: change.name, ...one })),
    );
    this.refuse(change.name, change.refused);
  }

  refuse(series: string | null, refusals: readonly Refusal[]): void {
    this.#refused += refusals.length;
    const room = mostListed - this.#refusals.length;
    this.#refusals.push(...refusals.slice(0, room).map((one) => ({ series, ...one })));
  }

  asText(files: number, took: string): string {
    const parts = [
      this.#revised > 0 ? `${count(this.#revised)} overwritten, the old values kept as revisions` : '',
      this.#provisional > 0 ? `${count(this.#provisional)} of open candles replaced` : '',
      this.#rewritten > 0
        ? `${count(this.#rewritten)} written with other digits and kept as first received`
        : '',
    ].filter((part) => part !== '');
    const more = parts.length === 0 ? '' : `, ${parts.join(', ')}`;
    return [
      ...this.#differences.slice(0, mostShown).map(differenceText),
      ...this.#refusals
        .slice(0, mostShown)
        .map(
          ({ series, raw, reason }) =>
            `refused${series === null ? '' : ` of ${series}`}: ${reason}: ${raw.slice(0, 200)}`,
        ),
      `imported ${counted(files, 'file')}: ${counted(this.#fresh, 'new point')}, ${count(this.#unchanged)} unchanged${more}; ${took}`,
    ].join('\n');
  }

  asJson(files: number) {
    return {
      files,
      fresh: this.#fresh,
      unchanged: this.#unchanged,
      rewritten: this.#rewritten,
      provisional: this.#provisional,
      revised: this.#revised,
      differing: this.#differing,
      refused: this.#refused,
      differences: this.#differences.map(({ timeMs, ...one }) => ({
        ...one,
        time: new Date(timeMs).toISOString(),
      })),
      refusals: this.#refusals,
    };
  }

  /** @throws TidemarkError ROWS_REFUSED, IMPORT_DIFFERS unless all of the files is stored as they have it. */
  judge(): void {
    const [refusal] = this.#refusals;
    if (refusal !== undefined) {
      throw new TidemarkError(
        'ROWS_REFUSED',
        `${counted(this.#refused, 'row')} could not be taken for points, the first: ${refusal.reason}`,
      );
    }
    if (this.#differing === 0) return;
    const missing =
      this.#missingInFile === 0 ? '' : `, ${count(this.#missingInFile)} of them missing in the file`;
    throw new TidemarkError(
      'IMPORT_DIFFERS',
      `${counted(this.#differing, 'stored point')} differ${this.#differing === 1 ? 's' : ''} from the file${missing}`,
      this.#missingInFile === this.#differing ? { remedy: 'what a file does not have is never dropped' } : {},
    );
  }
}

function differenceText({ series, timeMs, stored, inFile }: FileDifference & { series: string }): string {
  const columns = Object.keys(stored).filter(
    (column) => inFile === null || stored[column] !== inFile[column],
  );
  const text = columns
    .map(
      (column) =>
        `${column} stored ${stored[column]}${inFile === null ? '' : `, in the file ${inFile[column]}`}`,
    )
    .join('; ');
  return `${series}  ${moment(timeMs)}  ${text}${inFile === null ? ', missing in the file' : ''}`;
}
