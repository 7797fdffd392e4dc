/**
 * An export on its way to a file or to standard output. A file and its sidecar get their names when both are on the
 * disk: what ends before, by whatever cause, leaves what was there before as it was. In between only a crash could
 * fall, and leaves a new file beside an old sidecar, which does not vouch for it.
 */

import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { TidemarkError } from '../errors.ts';
import { columnsOf, type FileFormat, timeText } from '../files/layout.ts';
import { fractionDigits, parquetSchema } from '../files/parquet-schema.ts';
import { type Output, openRowWriter } from '../files/row-writer.ts';
import { type SidecarText, sidecarPath } from '../files/sidecar.ts';
import { standardOutput } from '../files/standard-output.ts';
import { openWholeFile, type WholeFile } from '../files/whole-file.ts';
import type { Cargo } from './export-cargo.ts';
import { showPointProgress } from './point-progress.ts';
import { version } from './version.ts';
import { count } from './wording.ts';

export interface Outcome {
  readonly points: number;
  readonly series: number;
  readonly gaps: number;
  readonly file: string;
  readonly sidecar: string | null;
}

export interface Destination {
  readonly format: FileFormat;
  /** `-`: standard output. */
  readonly out: string;
  readonly sidecar?: string;
  readonly json?: true;
  readonly signal: AbortSignal;
}

/** @throws TidemarkError FILE_NOT_WRITTEN, INTERRUPTED */
export async function exportTo(cargo: Cargo, to: Destination): Promise<Outcome> {
  const besides = to.sidecar ?? (to.out === '-' ? null : sidecarPath(to.out));
  const opened: WholeFile[] = [];
  const open = async (path: string) => {
    const file = await openWholeFile(path);
    opened.push(file);
    return file;
  };
  try {
    const file = to.out === '-' ? null : await open(to.out);
    const sidecar = besides === null ? null : await open(besides);
    const written = measuring(file ?? standardOutput());
    await writeRows(cargo, written, to);
    await file?.finish();
    const text = sidecarText(cargo, to, written.result());
    await sidecar?.write(Buffer.from(`${JSON.stringify(text, null, 2)}\n`));
    await sidecar?.finish();
    await file?.publish();
    await sidecar?.publish();
    const { points, series, gaps } = cargo;
    return { points, series, gaps, file: to.out, sidecar: besides };
  } finally {
    for (const file of opened) await file.discard();
  }
}

async function writeRows(cargo: Cargo, output: Output, to: Destination): Promise<void> {
  const progress = showPointProgress('export', { of: cargo.points, quiet: to.json === true });
  try {
    const writer = await openRowWriter(to.format, { ...cargo, output });
    let done = 0;
    for await (const rows of cargo.rows()) {
      if (to.signal.aborted) throw interrupted(done);
      await writer.write(rows);
      done += rows.points.length;
      progress.update(done);
    }
    if (to.signal.aborted) throw interrupted(done);
    await writer.end();
  } finally {
    progress.stop();
  }
}

function interrupted(done: number): TidemarkError {
  return new TidemarkError('INTERRUPTED', `stopped after ${count(done)} points; no file is left behind`, {
    remedy: 'run the same command again: it begins anew',
  });
}

/** Takes the measure of what is written, for the sidecar. */
function measuring(output: Output): Output & { result(): { bytes: number; sha256: string } } {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(piece) {
      await output.write(piece);
      hash.update(piece);
      bytes += piece.length;
    },
    result: () => ({ bytes, sha256: hash.digest('hex') }),
  };
}

function sidecarText(cargo: Cargo, to: Destination, file: { bytes: number; sha256: string }): SidecarText {
  return {
    tidemark: 'export',
    version: 1,
    madeBy: `tidemark ${version}`,
    exportedAt: timeText(cargo.atMs),
    file: { name: basename(to.out), format: to.format, rows: cargo.points, ...file },
    columns: columnTypes(cargo, to.format),
    ...cargo.about,
  } as SidecarText;
}

function columnTypes({ layout, digits }: Cargo, format: FileFormat): SidecarText['columns'] {
  if (format !== 'parquet') {
    return columnsOf(layout).map((name) => ({
      name,
      type: name === 'time' ? 'time' : layout.values.includes(name) ? 'decimal as text' : 'text',
    }));
  }
  return parquetSchema(layout, digits)
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
