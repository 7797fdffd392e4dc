/** The metadata of a table of Iceberg as this lake has written it. */

import { z } from 'zod';
import { messageOf, TidemarkError } from '../../../errors.ts';
import type { DatasetName } from '../../../model/datasets/index.ts';
import { tablePath } from '../paths.ts';
import type { LakeStorage } from '../storage/storage.ts';

const whole = z.int();

const field = z.object({ id: whole, name: z.string(), required: z.boolean(), type: z.string() });
const snapshotEntry = z.object({
  'snapshot-id': whole,
  'parent-snapshot-id': whole.optional(),
  'sequence-number': whole,
  'timestamp-ms': whole,
  'manifest-list': z.string(),
  'schema-id': whole,
  summary: z.record(z.string(), z.string()),
});
export type SnapshotEntry = z.output<typeof snapshotEntry>;

const tableMetadata = z.looseObject({
  'format-version': z.literal(2),
  'table-uuid': z.string(),
  'last-sequence-number': whole,
  'last-updated-ms': whole,
  'last-column-id': whole,
  schemas: z.array(z.object({ type: z.string(), 'schema-id': whole, fields: z.array(field).readonly() })).readonly(),
  'current-schema-id': whole,
  snapshots: z.array(snapshotEntry).readonly(),
  'metadata-log': z.array(z.object({ 'timestamp-ms': whole, 'metadata-file': z.string() })),
});
export type TableMetadata = z.output<typeof tableMetadata>;

export interface Table {
  readonly version: number;
  readonly metadata: TableMetadata;
}

export const hintPath = (dataset: DatasetName) => `${tablePath(dataset)}metadata/version-hint.text`;
export const metadataPath = (dataset: DatasetName, version: number) =>
  `${tablePath(dataset)}metadata/v${version}.metadata.json`;

/** Reads the newest metadata. @returns null: there is no table. @throws TidemarkError FILE_NOT_USABLE */
export async function readTable(storage: LakeStorage, dataset: DatasetName): Promise<Table | null> {
  const hint = Number((await storage.read(hintPath(dataset)))?.toString() ?? 0);
  let version = Number.isSafeInteger(hint) ? hint : 0;
  let content = version > 0 ? await storage.read(metadataPath(dataset, version)) : null;
  // A process that was killed may have left a newer one than the hint says.
  for (;;) {
    const next = await storage.read(metadataPath(dataset, version + 1));
    if (next === null) break;
    [version, content] = [version + 1, next];
  }
  if (content === null && version === 0) return null;
  try {
    return { version, metadata: tableMetadata.parse(JSON.parse(content?.toString() ?? '')) };
  } catch (error) {
    const path = `${storage.name}/${metadataPath(dataset, version)}`;
    throw new TidemarkError('FILE_NOT_USABLE', `${path}: ${messageOf(error)}`, {
      cause: error,
      remedy: 'restore it from a copy, or write another lake',
    });
  }
}

/** The path within the lake of a location in a table, also after the lake was moved. */
export function pathWithin(dataset: DatasetName, location: string): string {
  return location.slice(location.lastIndexOf(`/${tablePath(dataset)}metadata/`) + 1);
}

/** The manifest that a list names: both have the same id. */
export const manifestOfList = (path: string) => path.replace(/snap-\d+-([^/]*)\.avro$/, '$1-m0.avro');
