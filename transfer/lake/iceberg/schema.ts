/**
 * A dataset of the lake as a table of Iceberg: its schema and its partitions.
 *
 * Source: iceberg.apache.org/spec (schemas, partition transforms, appendix D: binary single-value serialization).
 */

import type { SchemaElement } from 'hyparquet';
import { unscaled } from '../../../files/decimals/text.ts';
import { doubleEnding, parquetSchema } from '../../../files/parquet/schema.ts';
import { type DatasetName, datasets } from '../../../model/datasets/index.ts';
import { keyNames, type SeriesKey } from '../../../model/series.ts';
import { columnsOf } from '../columns.ts';
import type { LakeFormat, LakeMonth } from '../manifest.ts';

export interface Field {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: string;
}

interface PartitionField {
  readonly 'source-id': number;
  readonly 'field-id': number;
  readonly name: string;
  readonly transform: 'identity' | 'month';
}

export interface TableSchema {
  readonly fields: readonly Field[];
  readonly partition: readonly PartitionField[];
}

/** Iceberg numbers partition fields from here. */
const firstPartition = 1000;
/** Names that each have a partition; pairs have none, because there are too many. */
const partitioned = ['exchange', 'interval'];

export function tableSchema(dataset: DatasetName, format: LakeFormat): TableSchema {
  const fields = parquetSchema(columnsOf(dataset, format)).slice(1).map(fieldOf);
  const idOf = (name: string) => fields.find((field) => field.name === name)?.id ?? 0;
  const names = keyNames[datasets[dataset].of].filter((name) => partitioned.includes(name));
  const partition: Array<Omit<PartitionField, 'field-id'>> = [
    ...names.map((name) => ({ 'source-id': idOf(name), name, transform: 'identity' as const })),
    { 'source-id': idOf('time'), name: 'time_month', transform: 'month' },
  ];
  return { fields, partition: partition.map((field, place) => ({ ...field, 'field-id': firstPartition + place })) };
}

function fieldOf({ field_id = 0, name, repetition_type, ...element }: SchemaElement): Field {
  return { id: field_id, name, required: repetition_type === 'REQUIRED', type: typeOf(name, element) };
}

function typeOf(name: string, { converted_type, type, precision, scale }: Omit<SchemaElement, 'name'>): string {
  if (name === 'time') return 'timestamptz';
  if (converted_type === 'DECIMAL') return `decimal(${precision}, ${scale})`;
  return type === 'DOUBLE' ? 'double' : 'string';
}

/** The values of a month's partition, by the name of its field. A month is the number of those since 1970. */
export function partitionOf(series: SeriesKey, { month }: LakeMonth): Record<string, string | number> {
  const [year = 1970, ofYear = 1] = month.split('-').map(Number);
  return {
    ...('exchange' in series ? { exchange: series.exchange } : {}),
    interval: series.interval,
    time_month: (year - 1970) * 12 + ofYear - 1,
  };
}

/** Of a column of doubles that of its exact twin. */
export const exactName = ({ name, type }: Pick<Field, 'name' | 'type'>) =>
  type === 'double' ? name.slice(0, -doubleEnding.length) : name;

/** Least and greatest values by field id, as Iceberg writes single values. */
export type Bounds = ReadonlyArray<{ readonly key: number; readonly least: Buffer; readonly greatest: Buffer }>;

/** @param names of the series. */
export function boundsOf({ fields }: TableSchema, names: Readonly<Record<string, string>>, month: LakeMonth): Bounds {
  return fields.flatMap(({ id, name, type }) => {
    const named = names[name];
    const extremes = named === undefined ? month.extremes?.[exactName({ name, type })] : ([named, named] as const);
    if (extremes === undefined) return [];
    const [least, greatest] = extremes;
    return [{ key: id, least: singleValue(type, least), greatest: singleValue(type, greatest) }];
  });
}

function singleValue(type: string, text: string): Buffer {
  const bytes = Buffer.alloc(8);
  if (type === 'string') return Buffer.from(text);
  if (type === 'double') bytes.writeDoubleLE(Number(text));
  else if (type === 'timestamptz') bytes.writeBigInt64LE(BigInt(Date.parse(text)) * 1000n);
  else return twosComplement(unscaled(text, Number(/, (\d+)/.exec(type)?.[1])));
  return bytes;
}

/** Most significant first, in as few bytes as hold it. */
function twosComplement(value: bigint): Buffer {
  let size = 1;
  while (BigInt.asIntN(8 * size, value) !== value) size += 1;
  return Buffer.from(
    BigInt.asUintN(8 * size, value)
      .toString(16)
      .padStart(2 * size, '0'),
    'hex',
  );
}
