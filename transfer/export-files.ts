/**
 * Writes an export to a file or to standard output. A file and its sidecar are renamed once both are on the disk, so an
 * export that fails leaves the previous files. A crash between the two renames leaves a new file with an old sidecar,
 * whose digest does not match.
 */

import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { TidemarkError } from '../errors.ts';
import { ValueMisfit } from '../files/decimals/decimal-type.ts';
import { openRowWriter } from '../files/formats.ts';
import { columnsOf, type FileFormat, type Output, timeText } from '../files/layout.ts';
import { openWholeFile, standardOutput, type WholeFile } from '../files/output.ts';
import { fractionDigits, parquetSchema } from '../files/parquet/schema.ts';
import { type SidecarText, sidecarPath } from '../files/sidecar.ts';
import { formatCount } from '../model/format.ts';
import type { ShowPoints } from '../planning/progress.ts';
import { version } from '../version.ts';
import type { ExportSource } from './export-source.ts';

export type Outcome = Awaited<ReturnType<typeof exportTo>>;

export interface Destination {
  readonly format: FileFormat;
  /** `-`: standard output. */
  readonly out: string;
  readonly sidecar?: string;
  readonly showProgress: ShowPoints;
  readonly signal: AbortSignal;
}

/** @throws TidemarkError FILE_NOT_WRITTEN, INTERRUPTED */
export async function exportTo(source: ExportSource, to: Destination) {
  const beside = to.sidecar ?? (to.out === '-' ? null : sidecarPath(to.out));
  const opened: WholeFile[] = [];
  const open = async (path: string) => {
    const file = await openWholeFile(path);
    opened.push(file);
    return file;
  };
  try {
    const file = to.out === '-' ? null : await open(to.out);
    const sidecar = beside === null ? null : await open(beside);
    const written = measured(file ?? standardOutput(to.signal));
    await writeRows(source, written, to);
    await file?.finish();
    const text = sidecarText(source, to, written.result());
    await sidecar?.write(Buffer.from(`${JSON.stringify(text, null, 2)}\n`));
    await sidecar?.finish();
    await file?.publish();
    await sidecar?.publish();
    const { points, series, gaps, untilMs: until, lastUntilMs: lastUntil } = source;
    return { points, series, gaps, until, lastUntil, file: to.out, sidecar: beside };
  } finally {
    for (const file of opened) await file.discard();
  }
}

/** Showing the progress of each piece, which has some dozens, would take a tenth of the time. */
const rowsOfUpdate = 5000;

async function writeRows(source: ExportSource, output: Output, to: Destination): Promise<void> {
  const progress = to.showProgress('export', source.points);
  let done = 0;
  try {
    const writer = await openRowWriter(to.format, { ...source, output });
    let shown = 0;
    const onRows = (rows: number) => {
      done += rows;
      if (to.signal.aborted) throw interrupted(to, done);
      if (done - shown < rowsOfUpdate) return;
      shown = done;
      progress.update(done);
    };
    for (const { names, copy } of source.parts) await writer.writeSeries(names, copy(writer.takes), onRows);
    if (to.signal.aborted) throw interrupted(to, done);
    await writer.end();
  } catch (error) {
    if (to.signal.aborted && error instanceof TidemarkError) throw interrupted(to, done);
    // Only a value that somebody wrote into the database by hand.
    if (!(error instanceof ValueMisfit)) throw error;
    throw new TidemarkError('FILE_NOT_WRITTEN', error.message, { cause: error, remedy: 'correct it, or export CSV' });
  } finally {
    progress.stop();
  }
}

function interrupted({ out }: Destination, done: number): TidemarkError {
  const left = out === '-' ? 'the output is cut off' : 'no file is left behind';
  return new TidemarkError('INTERRUPTED', `stopped after ${formatCount(done)} points; ${left}`, {
    remedy: 'run the same command again: it starts over',
  });
}

/** Computes size and digest of the output, for the sidecar. */
function measured(output: Output): Output & { result(): { bytes: number; sha256: string } } {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(piece) {
      const written = output.write(piece);
      hash.update(piece);
      bytes += piece.length;
      await written;
    },
    result: () => ({ bytes, sha256: hash.digest('hex') }),
  };
}

function sidecarText(source: ExportSource, to: Destination, file: { bytes: number; sha256: string }): SidecarText {
  return {
    tidemark: 'export',
    version: 1,
    madeBy: `tidemark ${version}`,
    exportedAt: timeText(source.atMs),
    file: { name: basename(to.out), format: to.format, rows: source.points, ...file },
    columns: columnTypes(source, to.format),
    ...source.about,
  } as SidecarText;
}

function columnTypes({ layout, digits }: ExportSource, format: FileFormat): SidecarText['columns'] {
  if (format !== 'parquet') {
    return columnsOf(layout).map((name) => ({
      name,
      type: name === 'time' ? 'time' : layout.values.includes(name) ? 'decimal as text' : 'text',
    }));
  }
  return parquetSchema({ layout, digits })
    .slice(1)
    .map(({ name, converted_type, precision, scale }) => ({
      name,
      type:
        converted_type === 'DECIMAL'
          ? `decimal(${precision}, ${scale})`
          : name === 'time'
            ? 'time'
            : name !== fractionDigits && layout.values.includes(name)
              ? 'decimal as text'
              : 'text',
    }));
}
