/**
 * Commits the files of a lake to its tables of Iceberg. A commit is a file of metadata with the next number, which of
 * several writers one can create: all changes of a run in a table are visible at once. `version-hint.text` says where
 * readers begin; if it is behind, they and we find the metadata after it.
 *
 * Source: iceberg.apache.org/spec (table metadata; file system tables in appendix F).
 */

import { createHash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { TidemarkError } from '../../../errors.ts';
import { type DatasetName, datasetNames } from '../../../model/datasets/index.ts';
import { dayMs, type EpochMs } from '../../../model/intervals.ts';
import { fileOf, type Lake, monthsOf } from '../manifest.ts';
import { tablePath } from '../paths.ts';
import type { LakeStorage } from '../storage/storage.ts';
import { manifestListOf, manifestOf, type TableFile } from './manifests.ts';
import { type TableSchema, tableSchema } from './schema.ts';
import {
  hintPath,
  manifestOfList,
  metadataPath,
  pathWithin,
  readTable,
  type SnapshotEntry,
  type Table,
  type TableMetadata,
} from './table.ts';

/** A snapshot is kept so long after the next one: whoever reads it then still finds its files. */
const keptMs = dayMs;
const mostSnapshots = 100;

/**
 * Commits every table whose files have changed. The entries of the lake get the number of the commit.
 *
 * @returns `expired`: paths that no snapshot needs any more.
 * @throws TidemarkError FILE_NOT_WRITTEN, also when another process has committed meanwhile; FILE_NOT_USABLE.
 */
export async function commitTables(
  storage: LakeStorage,
  lake: Lake & { readonly store: string },
  nowMs: EpochMs,
): Promise<{ hasChanged: boolean; expired: string[] }> {
  const expired: string[] = [];
  let hasChanged = false;
  for (const dataset of datasetNames) {
    const files = filesOf(storage, lake, dataset);
    const table = await readTable(storage, dataset);
    if (table === null && files.length === 0) continue;
    const committed = await commitTable(storage, { dataset, lake, files, table, nowMs });
    if (committed === null) continue;
    hasChanged = true;
    expired.push(...committed);
  }
  return { hasChanged, expired };
}

interface Commit {
  readonly dataset: DatasetName;
  readonly lake: Lake & { readonly store: string };
  readonly files: readonly TableFile[];
  /** Null: it is the first commit. */
  readonly table: Table | null;
  readonly nowMs: EpochMs;
}

/** @returns paths that no snapshot needs any more; null: nothing was to be committed. */
async function commitTable(storage: LakeStorage, commit: Commit): Promise<string[] | null> {
  const { dataset, lake, files, table, nowMs } = commit;
  const schema = tableSchema(dataset, lake);
  const content = contentOf(files);
  const schemaJson = schemaOf(schema, table?.metadata);
  const current = table?.metadata.snapshots.at(-1);
  const isSame = current?.summary['tidemark.content'] === content;
  if (isSame && schemaJson['schema-id'] === table?.metadata['current-schema-id']) return null;

  const sequence = (table?.metadata['last-sequence-number'] ?? 0) + 1;
  const snapshot = { sequence, schema, schemaJson };
  const uuid = randomUUID();
  const base = `${tablePath(dataset)}metadata/`;
  const manifest = files.length === 0 ? null : await manifestOf(snapshot, files);
  const manifestName = `${base}${uuid}-m0.avro`;
  if (manifest !== null) await storage.write(manifestName, manifest);
  const listName = `${base}snap-${sequence}-${uuid}.avro`;
  const listed = manifest === null ? null : { location: storage.locationOf(manifestName), bytes: manifest.length };
  await storage.write(listName, await manifestListOf(snapshot, listed, files));

  const entry: SnapshotEntry = {
    'snapshot-id': sequence,
    ...(current === undefined ? {} : { 'parent-snapshot-id': current['snapshot-id'] }),
    'sequence-number': sequence,
    'timestamp-ms': Math.max(nowMs, (current?.['timestamp-ms'] ?? 0) + 1),
    'manifest-list': storage.locationOf(listName),
    'schema-id': schemaJson['schema-id'],
    summary: summaryOf(commit, sequence, content),
  };
  const kept = keptSnapshots(table?.metadata.snapshots ?? [], entry);
  const version = (table?.version ?? 0) + 1;
  const metadata = metadataOf(storage, commit, { entry, kept, schema, schemaJson });
  await create(storage, metadataPath(dataset, version), Buffer.from(JSON.stringify(metadata, null, 1)));
  await storage.write(hintPath(dataset), Buffer.from(`${version}`));
  note(commit, sequence);
  return [...expiredMetadata(commit, kept, metadata), ...expiredFiles(lake, dataset, sequence, kept)];
}

/** @throws TidemarkError FILE_NOT_WRITTEN when there is one. */
async function create(storage: LakeStorage, path: string, content: Buffer): Promise<void> {
  const isOurs = async () => (await storage.read(path))?.equals(content) === true;
  // A request that was sent twice finds its own file.
  if (!(await storage.create(path, content)) && !(await isOurs()))
    throw new TidemarkError('FILE_NOT_WRITTEN', `another process has committed ${storage.name}/${path}`, {
      remedy: 'run the command again; one lake has one database',
    });
}

function filesOf(storage: LakeStorage, lake: Lake, dataset: DatasetName): TableFile[] {
  return monthsOf(lake).flatMap(({ of, month }) => {
    const path = of.series.dataset === dataset ? fileOf(lake, of, month) : null;
    return path === null ? [] : [{ ...of, month, location: storage.locationOf(path) }];
  });
}

/** Identifies a set of files: their names have their checksums. */
function contentOf(files: readonly TableFile[]): string {
  const names = files.map(({ location }) => location).sort();
  return createHash('sha256').update(names.join('\n')).digest('hex');
}

/** The schema with its id: that of the table if it is the same, else the next one. */
function schemaOf({ fields }: TableSchema, metadata: TableMetadata | undefined) {
  const known = metadata?.schemas.find((one) => isDeepStrictEqual(one.fields, fields));
  return known ?? { type: 'struct', 'schema-id': metadata?.schemas.length ?? 0, fields };
}

function summaryOf({ lake, dataset, files, nowMs }: Commit, sequence: number, content: string) {
  const added = files.filter(({ month: { since = sequence } }) => since === sequence);
  const removed = [...lake.superseded].filter(([path, by]) => by === null && path.startsWith(tablePath(dataset)));
  const sum = (of: readonly TableFile[], key: 'rows' | 'bytes') =>
    String(of.reduce((total, { month }) => total + (month[key] ?? 0), 0));
  return {
    operation: removed.length === 0 ? 'append' : added.length === 0 ? 'delete' : 'overwrite',
    'added-data-files': String(added.length),
    'added-records': sum(added, 'rows'),
    'deleted-data-files': String(removed.length),
    'total-data-files': String(files.length),
    'total-records': sum(files, 'rows'),
    'total-files-size': sum(files, 'bytes'),
    'tidemark.content': content,
    'tidemark.written-at': new Date(nowMs).toISOString(),
  };
}

/** The snapshots that stay, ascending: those that were followed lately, and the new one. */
function keptSnapshots(before: readonly SnapshotEntry[], entry: SnapshotEntry): SnapshotEntry[] {
  const all = [...before, entry];
  const nowMs = entry['timestamp-ms'];
  return all.filter((_, place) => (all[place + 1]?.['timestamp-ms'] ?? nowMs) > nowMs - keptMs).slice(-mostSnapshots);
}

function metadataOf(
  storage: LakeStorage,
  { dataset, lake, table }: Commit,
  {
    entry,
    kept,
    schema,
    schemaJson,
  }: {
    readonly entry: SnapshotEntry;
    readonly kept: readonly SnapshotEntry[];
    readonly schema: TableSchema;
    readonly schemaJson: TableMetadata['schemas'][number];
  },
): TableMetadata {
  const before = table?.metadata;
  const known = before?.schemas ?? [];
  const log =
    table === null
      ? []
      : [
          ...table.metadata['metadata-log'],
          {
            'timestamp-ms': table.metadata['last-updated-ms'],
            'metadata-file': storage.locationOf(metadataPath(dataset, table.version)),
          },
        ];
  return {
    'format-version': 2,
    'table-uuid': before?.['table-uuid'] ?? randomUUID(),
    location: storage.locationOf(tablePath(dataset)).replace(/\/$/, ''),
    'last-sequence-number': entry['sequence-number'],
    'last-updated-ms': entry['timestamp-ms'],
    'last-column-id': Math.max(...schema.fields.map(({ id }) => id), before?.['last-column-id'] ?? 0),
    schemas: known.includes(schemaJson) ? known : [...known, schemaJson],
    'current-schema-id': schemaJson['schema-id'],
    'partition-specs': [{ 'spec-id': 0, fields: schema.partition }],
    'default-spec-id': 0,
    'last-partition-id': Math.max(...schema.partition.map((field) => field['field-id'])),
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    'default-sort-order-id': 0,
    properties: { 'write.format.default': 'parquet', 'tidemark.store': lake.store },
    'current-snapshot-id': entry['snapshot-id'],
    snapshots: kept,
    'snapshot-log': kept.map((one) => ({ 'timestamp-ms': one['timestamp-ms'], 'snapshot-id': one['snapshot-id'] })),
    // As many as there are earlier snapshots.
    'metadata-log': log.slice(Math.max(0, log.length - kept.length + 1)),
    refs: { main: { 'snapshot-id': entry['snapshot-id'], type: 'branch' } },
  };
}

/** Gives what is new its number, and what has been left out that of the commit that left it out. */
function note({ dataset, lake, files }: Commit, sequence: number): void {
  for (const { month, months } of files)
    if (month.since === undefined) months.set(month.month, { ...month, since: sequence });
  for (const [path, by] of lake.superseded)
    if (by === null && path.startsWith(tablePath(dataset))) lake.superseded.set(path, sequence);
}

/** Metadata that the table no longer names. */
function expiredMetadata(
  { dataset, table }: Commit,
  kept: readonly SnapshotEntry[],
  metadata: TableMetadata,
): string[] {
  const snapshots = (table?.metadata.snapshots ?? []).filter((one) => !kept.includes(one));
  const lists = snapshots.map((one) => pathWithin(dataset, one['manifest-list']));
  const logged = (table?.metadata['metadata-log'] ?? [])
    .filter((one) => metadata['metadata-log'].every((still) => still['metadata-file'] !== one['metadata-file']))
    .map((one) => pathWithin(dataset, one['metadata-file']));
  return [...lists, ...lists.map(manifestOfList), ...logged];
}

/** Takes the files that no snapshot needs any more out of the lake. */
function expiredFiles(lake: Lake, dataset: DatasetName, sequence: number, kept: readonly SnapshotEntry[]): string[] {
  const oldest = kept[0]?.['sequence-number'] ?? sequence;
  const expired = [...lake.superseded].flatMap(([path, by]) =>
    path.startsWith(tablePath(dataset)) && by !== null && by <= oldest ? [path] : [],
  );
  for (const path of expired) lake.superseded.delete(path);
  return expired;
}
