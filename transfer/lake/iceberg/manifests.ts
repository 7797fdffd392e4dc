/**
 * The files of Avro that name the files of a snapshot: a manifest, and the list of manifests.
 *
 * Source: iceberg.apache.org/spec (manifests, manifest lists, appendix A: ids in the schemas of Avro).
 */

import avro, { type Schema } from 'avsc';
import { datasetOf } from '../../../model/datasets/index.ts';
import { keyNames, keyOf, type SeriesKey } from '../../../model/series.ts';
import type { LakeMonth } from '../manifest.ts';
import { type Bounds, boundsOf, exactName, type Field, partitionOf, type TableSchema } from './schema.ts';

/** A month with a file. */
export interface TableFile {
  readonly series: SeriesKey;
  readonly month: LakeMonth;
  /** Those of its series, by name. */
  readonly months: Map<string, LakeMonth>;
  /** For other programs. */
  readonly location: string;
}

export interface Snapshot {
  /** Its number among the commits, which is also its id. */
  readonly sequence: number;
  readonly schema: TableSchema;
  /** The schema as the table's metadata have it. */
  readonly schemaJson: { readonly 'schema-id': number };
}

const added = 1;
const existing = 0;

const optional = (type: unknown) => ['null', type];
const mapOf = (key: number, value: number, type: string) => ({
  type: 'array',
  logicalType: 'map',
  items: {
    type: 'record',
    name: `k${key}_v${value}`,
    fields: [
      { name: 'key', type: 'int', 'field-id': key },
      { name: 'value', type, 'field-id': value },
    ],
  },
});

function entrySchema({ fields, partition }: TableSchema) {
  const source = (id: number) => fields.find((field) => field.id === id);
  const partitionFields = partition.map(({ name, transform, ...ids }) => ({
    ...{ name, default: null, 'field-id': ids['field-id'] },
    type: optional(transform === 'month' ? 'int' : source(ids['source-id'])?.type),
  }));
  const map = (name: string, id: number, key: number, type: string) => ({
    ...{ name, default: null, 'field-id': id },
    type: optional(mapOf(key, key + 1, type)),
  });
  const dataFile = [
    { name: 'content', type: 'int', 'field-id': 134 },
    { name: 'file_path', type: 'string', 'field-id': 100 },
    { name: 'file_format', type: 'string', 'field-id': 101 },
    { name: 'partition', type: { type: 'record', name: 'r102', fields: partitionFields }, 'field-id': 102 },
    { name: 'record_count', type: 'long', 'field-id': 103 },
    { name: 'file_size_in_bytes', type: 'long', 'field-id': 104 },
    map('value_counts', 109, 119, 'long'),
    map('null_value_counts', 110, 121, 'long'),
    map('lower_bounds', 125, 126, 'bytes'),
    map('upper_bounds', 128, 129, 'bytes'),
  ];
  return {
    type: 'record',
    name: 'manifest_entry',
    fields: [
      { name: 'status', type: 'int', 'field-id': 0 },
      { name: 'snapshot_id', type: optional('long'), default: null, 'field-id': 1 },
      { name: 'sequence_number', type: optional('long'), default: null, 'field-id': 3 },
      { name: 'file_sequence_number', type: optional('long'), default: null, 'field-id': 4 },
      { name: 'data_file', type: { type: 'record', name: 'r2', fields: dataFile }, 'field-id': 2 },
    ],
  };
}

/** Files without a number of a commit are new in this one. */
export function manifestOf({ sequence, schema, schemaJson }: Snapshot, files: readonly TableFile[]): Promise<Buffer> {
  const entries = files.map(({ series, month, location }) => {
    const { rows, bytes, nulls = {}, since = sequence } = month;
    const names = Object.fromEntries(
      keyNames[datasetOf(series.dataset).of].map((name, place) => [name, keyOf(series)[place] ?? '']),
    );
    const bounds = boundsOf(schema, names, month);
    const perField = (value: (field: Field) => number) =>
      schema.fields.map((field) => ({ key: field.id, value: value(field) }));
    const sideOf = (side: 'least' | 'greatest', all: Bounds) => all.map(({ key, [side]: value }) => ({ key, value }));
    return {
      status: since === sequence ? added : existing,
      ...{ snapshot_id: since, sequence_number: since, file_sequence_number: since },
      data_file: {
        ...{ content: 0, file_path: location, file_format: 'PARQUET', partition: partitionOf(series, month) },
        ...{ record_count: rows, file_size_in_bytes: bytes },
        value_counts: perField(() => rows),
        null_value_counts: perField(({ name, type }) => nulls[exactName({ name, type })] ?? 0),
        ...{ lower_bounds: sideOf('least', bounds), upper_bounds: sideOf('greatest', bounds) },
      },
    };
  });
  return avroFile(entrySchema(schema), entries, {
    schema: JSON.stringify(schemaJson),
    'schema-id': String(schemaJson['schema-id']),
    'partition-spec': JSON.stringify(schema.partition),
    'partition-spec-id': '0',
    'format-version': '2',
    content: 'data',
  });
}

const listSchema = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    { name: 'manifest_path', type: 'string', 'field-id': 500 },
    { name: 'manifest_length', type: 'long', 'field-id': 501 },
    { name: 'partition_spec_id', type: 'int', 'field-id': 502 },
    { name: 'content', type: 'int', 'field-id': 517 },
    { name: 'sequence_number', type: 'long', 'field-id': 515 },
    { name: 'min_sequence_number', type: 'long', 'field-id': 516 },
    { name: 'added_snapshot_id', type: 'long', 'field-id': 503 },
    { name: 'added_files_count', type: 'int', 'field-id': 504 },
    { name: 'existing_files_count', type: 'int', 'field-id': 505 },
    { name: 'deleted_files_count', type: 'int', 'field-id': 506 },
    { name: 'added_rows_count', type: 'long', 'field-id': 512 },
    { name: 'existing_rows_count', type: 'long', 'field-id': 513 },
    { name: 'deleted_rows_count', type: 'long', 'field-id': 514 },
  ],
};

/** @param manifest null: the snapshot has no files. */
export function manifestListOf(
  { sequence }: Snapshot,
  manifest: { readonly location: string; readonly bytes: number } | null,
  files: readonly TableFile[],
): Promise<Buffer> {
  const fresh = files.filter(({ month: { since = sequence } }) => since === sequence);
  const older = files.filter((file) => !fresh.includes(file));
  const rowsOf = (some: readonly TableFile[]) => some.reduce((sum, { month }) => sum + month.rows, 0);
  const entry = {
    ...{ manifest_path: manifest?.location, manifest_length: manifest?.bytes, partition_spec_id: 0, content: 0 },
    sequence_number: sequence,
    min_sequence_number: Math.min(sequence, ...older.map(({ month }) => month.since ?? sequence)),
    added_snapshot_id: sequence,
    ...{ added_files_count: fresh.length, existing_files_count: older.length, deleted_files_count: 0 },
    ...{ added_rows_count: rowsOf(fresh), existing_rows_count: rowsOf(older), deleted_rows_count: 0 },
  };
  return avroFile(listSchema, manifest === null ? [] : [entry], { 'format-version': '2' });
}

async function avroFile(
  schema: object,
  records: readonly object[],
  metadata: Readonly<Record<string, string>>,
): Promise<Buffer> {
  const named = Object.entries(metadata).map(([key, text]) => [key, Buffer.from(text)]);
  // Its types do not know the metadata.
  const options = { writeHeader: true, metadata: Object.fromEntries(named) };
  const encoder = new avro.streams.BlockEncoder(schema as Schema, options);
  const pieces: Buffer[] = [];
  const ended = new Promise((done, fail) => encoder.on('end', done).on('error', fail));
  encoder.on('data', (piece: Buffer) => pieces.push(piece));
  for (const record of records) encoder.write(record);
  encoder.end();
  await ended;
  return Buffer.concat(pieces);
}
