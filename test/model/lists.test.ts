import { expect, it } from 'vitest';
import { keyNames, type ListColumn } from '../../model/list.ts';
import { eachList } from '../../model/lists/index.ts';
import { useStore } from '../store/open-store.ts';

const store = useStore();

it.each(eachList)('the tables of $name have the columns of its descriptor', async (list) => {
  const { keeps, details, detailsOfNow, values, tables } = list;
  const columns = async (table: string) => {
    const result = await store.database.pool.query<{ column: string }>(
      `select attname || ' ' || format_type(atttypid, atttypmod) as column from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped order by 1`,
      [`tidemark.${table}`],
    );
    return result.rows.map(({ column }) => column.replace('timestamp with time zone', 'timestamptz'));
  };
  const typed = (of: readonly ListColumn[]) => of.map(({ name, type }) => `${name} ${type}`);
  const ofChanges = (column: string) => (keeps === 'changes' ? [column] : []);
  expect(await columns(tables.listed)).toEqual(
    [
      ...['id integer', 'gone_since timestamptz', 'missed_since timestamptz', ...ofChanges('newest timestamptz')],
      ...[...keyNames(list).map((name) => `${name} text`), ...typed([...details, ...detailsOfNow])],
    ].sort(),
  );
  expect(await columns(tables.states)).toEqual(
    [`${tables.id} integer`, 'time timestamptz', ...ofChanges('gone boolean'), ...typed(values)].sort(),
  );
});
