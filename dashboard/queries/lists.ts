/** The contents of a polled list and their last changes, as text with every digit. */

import { keyNames, type List } from '../../model/list.ts';
import { listNames, lists, type PolledList } from '../../model/lists/index.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, int8, nullable, statement, statementsBy, text, texts, time } from '../../store/db/statement.ts';
import type { ListContents } from './shapes.ts';

/** @param most entries, by rank where the list has one, else by name. */
export async function readListContents(
  { pool }: Database,
  { dataset, asset }: PolledList,
  most: number,
): Promise<ListContents> {
  const list = lists[dataset];
  const { entries, gone } = statements(dataset);
  const rows = await entries.on(pool, { asset, most });
  return {
    key: keyNames(list),
    columns: shownColumns(list),
    inAll: rows[0]?.inAll ?? 0,
    rows: rows.map(({ inAll: _, ...row }) => row),
    gone: await gone.on(pool, { asset, most }),
  };
}

const namesOf = (columns: ReadonlyArray<{ readonly name: string }>) => columns.map(({ name }) => name);
const shownColumns = ({ details, values }: List) => namesOf([...details, ...values]);

const statements = statementsBy(listNames, (name) => statementsOf(lists[name]));

function statementsOf(list: List) {
  const { name, askedFor, keeps, details, values } = list;
  const { listed, states, id } = list.tables;
  const key = keyNames(list);
  const cells = (of: string) =>
    [...namesOf(details).map((one) => `d.${one}`), ...namesOf(values).map((one) => `${of}.${one}`)]
      .map((column) => `${column}::text`)
      .join(', ');
  const keyed = `array[${key.map((one) => `d.${one}`).join(', ')}] as key`;
  const mine = askedFor === 'asset' ? 'd.asset = $asset' : '$asset is null';
  const [upTo, isState] = keeps === 'changes' ? ['and time <= d.newest', 'and not gone'] : ['', ''];
  const order = [...(namesOf(values).includes('rank') ? ['s.rank nulls last'] : []), ...key.map((one) => `d.${one}`)];
  const parameters = { asset: nullable(text), most: int4 };
  return {
    entries: statement({
      name: `list-contents-${name}`,
      text: `
        select ${keyed}, array[${cells('s')}] as cells,
               case when b.time is null then null else array[${cells('b')}] end as before,
               s.time as "sinceMs", d."inAll"
        from (select *, count(*) over () as "inAll" from tidemark.${listed} d where d.gone_since is null and ${mine}) d
        cross join lateral (select * from tidemark.${states} where ${id} = d.id ${upTo} ${isState}
                            order by time desc limit 1) s
        left join lateral (select * from tidemark.${states} where ${id} = d.id and time < s.time ${isState}
                           order by time desc limit 1) b on true
        order by ${order.join(', ')} limit $most`,
      parameters,
      row: {
        ...{ key: texts<string>(), cells: texts<string | null>(), before: nullable(texts<string | null>()) },
        ...{ sinceMs: time, inAll: int8 },
      },
    }),
    gone: statement({
      name: `list-gone-${name}`,
      text: `
        select ${keyed}, d.gone_since as "sinceMs"
        from tidemark.${listed} d where d.gone_since is not null and ${mine} order by d.gone_since desc limit $most`,
      parameters,
      row: { key: texts<string>(), sinceMs: time },
    }),
  };
}
