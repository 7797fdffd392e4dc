/**
 * The sidecar of an exported file: a JSON file with its ranges, coverage, confirmed empty ranges and gaps. It names the
 * file by its SHA-256, so it does not apply to a file that was changed.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import { codeOf, TidemarkError } from '../errors.ts';
import { datasetNames, datasets } from '../model/datasets/index.ts';
import { objectOf } from '../model/json.ts';
import { shapeProblem } from '../model/shape-problem.ts';
import { contentOf } from './content.ts';
import { FileProblem } from './file-problem.ts';
import { usable } from './formats.ts';
import { fileFormats } from './layout.ts';

/** `candles.csv.meta.json` for `candles.csv`. */
export function sidecarPath(path: string): string {
  return `${path}.meta.json`;
}

const time = z.iso.datetime().transform((text) => Date.parse(text));
/** `[from, to)`. */
const range = z
  .object({ from: time, to: time })
  .refine(({ from, to }) => from < to, 'a range must begin before its end')
  .transform(({ from, to }) => ({ startMs: from, endMs: to }));
const ranges = z.array(range);
const gap = z.object({ from: z.string(), to: z.string(), reason: z.string() });

const knowledge = {
  range,
  /** The tracked range at export; null: open-ended. */
  tracked: z.object({ from: time, to: time.nullable() }),
  points: z.int().min(0),
  coverage: ranges,
  /** The part of the coverage that two empty answers confirmed. */
  confirmedEmpty: ranges,
  /** The part of the confirmed empty ranges before the beginning of the series, requested by days only. */
  beforeBeginning: ranges,
  gaps: z.array(gap),
};

const ofMarket = z.object({
  exchange: z.string(),
  base: z.string(),
  quote: z.string(),
  interval: z.string(),
  ...knowledge,
});
const ofAsset = z.object({ asset: z.string(), interval: z.string(), ...knowledge });
const rateKnowledge = z.object({ currency: z.string(), points: z.int().min(0), first: time, last: time });

const facts = {
  tidemark: z.literal('export'),
  version: z.literal(1),
  madeBy: z.string(),
  exportedAt: time,
  file: z.object({
    name: z.string(),
    format: z.enum(fileFormats),
    rows: z.int().min(0),
    bytes: z.int().min(0),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
};

const namesOf = (of: 'market' | 'asset') => datasetNames.filter((name) => datasets[name].of === of);

const sidecar = z.discriminatedUnion('dataset', [
  z.object({ ...facts, dataset: z.enum(namesOf('market')), series: z.array(ofMarket) }),
  z.object({ ...facts, dataset: z.enum(namesOf('asset')), series: z.array(ofAsset) }),
  z.object({ ...facts, dataset: z.literal('rates'), series: z.array(rateKnowledge) }),
]);

/** Parsed: times are milliseconds, ranges those of `model/ranges.ts`. */
export type Sidecar = z.output<typeof sidecar>;
/** As written. */
export type SidecarText = z.input<typeof sidecar>;

/**
 * A pipe can be read only once, and opening it may block.
 *
 * @throws TidemarkError FILE_NOT_USABLE when it does not exist or is not a regular file.
 */
export async function assertIsFile(path: string): Promise<void> {
  await usable(path, async () => {
    const found = await stat(path);
    if (found.isDirectory()) throw new FileProblem('a directory, not a file', 'name the files in it');
    if (!found.isFile()) throw new FileProblem('not a regular file', 'write it to a file, and name that');
  });
}

/** Identifies a version of a file. @throws TidemarkError FILE_NOT_USABLE */
export async function stampOf(path: string): Promise<string> {
  return usable(path, async () => {
    const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs].join(' ');
  });
}

const sidecarAdvice =
  'name the sidecar that `export` wrote with --sidecar, or import with --points-only: no coverage is claimed then';

/** @returns null when there is no such file. @throws TidemarkError FILE_NOT_USABLE */
export async function readSidecar(path: string): Promise<Sidecar | null> {
  try {
    await assertIsFile(path);
  } catch (error) {
    if (error instanceof TidemarkError && codeOf(error.cause) === 'ENOENT') return null;
    throw error;
  }
  return usable(path, async () => {
    const result = sidecar.safeParse(objectOf(await readFile(path, 'utf8')), { error: shapeProblem });
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const place = issue?.path.join('.') ?? '';
    const what = place === '' ? 'not a JSON object' : `${place}: ${issue?.message}`;
    throw new FileProblem(`not a sidecar of an export: ${what}`, sidecarAdvice);
  });
}

/**
 * Compares a file, or what is compressed in it, with its sidecar.
 *
 * @param beforePiece called before each piece is read; throws to stop.
 * @throws TidemarkError FILE_NOT_USABLE when the file was changed, truncated or replaced.
 */
export async function assertDescribed(
  path: string,
  described: Sidecar['file'],
  beforePiece: () => void,
): Promise<void> {
  const { format } = described;
  const pieces = format === 'parquet' ? createReadStream(path) : contentOf(path, format);
  const { sha256, bytes } = await digestOf(path, pieces, beforePiece);
  if (sha256 === described.sha256) return;
  const what = bytes === described.bytes ? 'its SHA-256 differs' : `it has ${bytes} bytes, not ${described.bytes}`;
  throw new TidemarkError('FILE_NOT_USABLE', `${path} is not the file that its sidecar describes: ${what}`, {
    remedy: 'export it again, or import it with --points-only: no coverage is claimed then',
  });
}

/**
 * Compares a file with `FILE.CHECKSUM` beside it, as `sha256sum` writes it, if there is one.
 *
 * @param beforePiece called before each piece is read; throws to stop.
 * @throws TidemarkError FILE_NOT_USABLE when the checksum differs or cannot be read.
 */
export async function assertChecksum(path: string, beforePiece: () => void): Promise<void> {
  const beside = `${path}.CHECKSUM`;
  const text = await usable(beside, async () => {
    try {
      return await readFile(beside, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    }
  });
  if (text === null) return;
  const [stated] = /^[0-9a-f]{64}\b/i.exec(text) ?? [];
  if (stated?.toLowerCase() === (await digestOf(path, createReadStream(path), beforePiece)).sha256) return;
  throw new TidemarkError(
    'FILE_NOT_USABLE',
    stated === undefined
      ? `${beside} does not begin with a SHA-256`
      : `${path} is not the file that ${beside} describes: its SHA-256 differs`,
    { remedy: 'nothing was imported; download both again' },
  );
}

async function digestOf(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  beforePiece: () => void,
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  await usable(path, async () => {
    for await (const piece of pieces) {
      beforePiece();
      hash.update(piece);
      bytes += piece.length;
    }
  });
  return { sha256: hash.digest('hex'), bytes };
}
