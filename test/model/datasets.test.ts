import { expect, it } from 'vitest';
import { datasetNames, datasetOf } from '../../model/datasets/index.ts';
import { useStore } from '../store/open-store.ts';

const store = useStore();

it.each(datasetNames)('the table of %s has the columns of its descriptor', async (name) => {
  const { table, columns } = datasetOf(name);
  const result = await store.database.pool.query<{ name: string; type: string; nullable: boolean; inKey: boolean }>(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
            coalesce(a.attnum = any (k.conkey), false) as "inKey"
     from pg_attribute a left join pg_constraint k on k.conrelid = a.attrelid and k.contype = 'p'
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [`tidemark.${table}`],
  );
  const key = [
    { name: 'series_id', type: 'integer', nullable: false, inKey: true },
    { name: 'time', type: 'timestamp with time zone', nullable: false, inKey: true },
  ];
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);
  expect([...result.rows].sort(byName)).toEqual(
    [
      ...key,
      ...columns.map(({ name, isOptional }) => ({
        ...{ name, type: 'numeric', nullable: isOptional === true, inKey: false },
      })),
    ].sort(byName),
  );
});
