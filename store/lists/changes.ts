/** Stores the rows of a page, all or those that differ from the stored ones, and marks entries that are missing. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import { keyNames, type List } from '../../model/list.ts';
import { type ListRow, listNames, lists, type PolledList } from '../../model/lists/index.ts';
import { isOutageLike } from '../../planning/polls.ts';
import { int4, int4s, int8, listOf, nullable, statement, statementsBy, text, time } from '../db/statement.ts';
import { entriesOf, keysOf, readEntries, readKeys, storedValue } from './rows.ts';

/**
 * Stores what a page brings. Values are compared as text: one more trailing zero is a change.
 *
 * @param pollId the poll, whose earlier pages win over a row that comes again, as when rows shift between two pages.
 */
export async function keepChanges(
  client: pg.PoolClient,
  page: { list: PolledList; pollId: number; rows: readonly ListRow[]; timeMs: EpochMs },
) {
  const { dataset, asset } = page.list;
  const entries = readEntries(lists[dataset], asset, page.rows);
  if (entries.length === 0) return { listed: [], fresh: 0, changed: 0 };
  const { enter, keep } = statements(dataset);
  await enter.on(client, { entries, timeMs: page.timeMs });
  return keep.one(client, { entries, pollId: page.pollId, timeMs: page.timeMs });
}

/** Ids of the unreadable rows, as far as they were listed before; null: one of them does not name its key. */
export async function findUnreadable(
  client: pg.PoolClient,
  { dataset, asset }: PolledList,
  rejected: readonly { readonly raw: string }[],
): Promise<number[] | null> {
  if (rejected.length === 0) return [];
  const keys = readKeys(lists[dataset], asset, rejected);
  if (keys === null) return null;
  return (await statements(dataset).find.on(client, { keys })).map(({ id }) => id);
}

/**
 * Marks entries that a complete poll does not list. An entry that the complete poll before did not list
 * either is gone, since the first of the two. It stays stored; where changes are kept, with a row that says so.
 *
 * @param poll.confirmMs least time between two polls that mark a large part of the list as gone.
 * @returns the number of entries that are gone since this poll.
 */
export async function markMissing(
  client: pg.PoolClient,
  poll: { id: number; list: PolledList; timeMs: EpochMs; confirmMs: number },
): Promise<number> {
  const { countMissing, markGone, markMissed } = statements(poll.list.dataset);
  const { timeMs } = poll;
  const { listed, missing } = await countMissing.one(client, { pollId: poll.id, asset: poll.list.asset });
  if (missing.length === 0) return 0;
  const apartMs = isOutageLike(missing.length, listed) ? poll.confirmMs : 0;
  const gone = await markGone.on(client, { missing, timeMs, apartMs });
  await markMissed.on(client, { missing, timeMs });
  return gone.length;
}

const of = (alias: string, names: readonly string[]) => names.map((name) => `${alias}.${name}`).join(', ');
const isUnlistedYet = 'd.id not in (select unnest(p.listed) from tidemark.poll_pages p where p.poll_id = $pollId)';

const statements = statementsBy(listNames, (name) => statementsOf(lists[name]));

function statementsOf(list: List) {
  const { name, askedFor, keeps } = list;
  const listed = `tidemark.${list.tables.listed}`;
  const states = `tidemark.${list.tables.states}`;
  const keys = keyNames(list).join(', ');
  const isEachPollKept = keeps === 'every poll';
  return {
    /** Adds the entries that are new, and renews their details. */
    enter: statement({
      name: `enter-${name}`,
      text: enterText(list),
      parameters: { entries: entriesOf(list), ...(isEachPollKept ? {} : { timeMs: time }) },
    }),
    keep: statement({
      name: `keep-${name}`,
      text: isEachPollKept ? keepAllText(list) : keepChangedText(list),
      parameters: { entries: entriesOf(list), pollId: int8, timeMs: time },
      row: {
        /** Ids on the page that no earlier page of the poll listed. */
        listed: int4s,
        /** Stored rows: of new entries and entries that came back, or of every poll; and of changed entries. */
        ...{ fresh: int8, changed: int8 },
      },
    }),
    find: statement({
      name: `find-${name}`,
      text: `select id from ${listed} join $keys using (${keys})`,
      parameters: { keys: keysOf(list) },
      row: { id: int4 },
    }),
    countMissing: statement({
      name: `count-missing-${name}`,
      text: `
        select count(*) as listed, coalesce(array_agg(d.id) filter (where ${isUnlistedYet}), '{}') as missing
        from ${listed} d where d.gone_since is null and
          ${askedFor === 'asset' ? 'd.asset = $asset' : '$asset is null'}`,
      parameters: { pollId: int8, asset: nullable(text) },
      row: { listed: int8, missing: int4s },
    }),
    markGone: statement({
      name: `mark-gone-${name}`,
      text: `
        with gone as (
          update ${listed} set gone_since = missed_since
          where id = any ($missing) and missed_since <= $timeMs - $apartMs * interval '1 millisecond'
          returning id, gone_since
        )${
          isEachPollKept
            ? ''
            : `, marked as (
          insert into ${states} (listed_id, time, gone) select id, gone_since, true from gone
        )`
        }
        select id from gone`,
      parameters: { missing: listOf(int4), timeMs: time, apartMs: int8 },
      row: { id: int4 },
    }),
    markMissed: statement({
      name: `mark-missed-${name}`,
      text: `update ${listed} set missed_since = $timeMs where id = any ($missing) and missed_since is null`,
      parameters: { missing: listOf(int4), timeMs: time },
    }),
  };
}

function enterText(list: List): string {
  const key = keyNames(list);
  const details = [...list.details, ...list.detailsOfNow].map(({ name }) => name);
  // A list of changes has the time of the newest row beside each entry.
  const newest = list.keeps === 'changes' ? ', newest' : '';
  const isStored = [
    ...key.map((name) => `d.${name} = entries.${name}`),
    ...details.map((name) => `d.${name} is not distinct from entries.${name}`),
  ].join(' and ');
  const renewed = details.map((name) => `${name} = excluded.${name}`).join(', ');
  return `
    insert into tidemark.${list.tables.listed} (${[...key, ...details].join(', ')}${newest})
    select ${of('entries', [...key, ...details])}${newest === '' ? '' : ', $timeMs'} from $entries
    where not exists (select from tidemark.${list.tables.listed} d where ${isStored})
    order by ${of('entries', key)}
    on conflict (${key.join(', ')}) do ${renewed === '' ? 'nothing' : `update set ${renewed}`}`;
}

function keepChangedText(list: List): string {
  const { listed, states } = list.tables;
  const columns = list.values.map(({ name }) => name);
  const names = columns.join(', ');
  const differs = columns.map((name) => `s.${name}::text is distinct from i.${name}::text`).join(' or ');
  return `
    with incoming as materialized (
      select d.id, d.newest, d.gone_since, d.missed_since, ${list.values.map(storedValue).join(', ')}
      from $entries join tidemark.${listed} d using (${keyNames(list).join(', ')}) where ${isUnlistedYet}
    ), compared as materialized (
      select i.*, s.time is null or i.gone_since is not null as fresh
      from incoming i
      left join lateral (
        select time, ${names} from tidemark.${states}
        where listed_id = i.id and time >= i.newest and not gone order by time desc limit 1
      ) s on true
      where s.time is null or i.gone_since is not null or ${differs}
    ), kept as (
      insert into tidemark.${states} (listed_id, time, ${names}) select id, $timeMs, ${names} from compared
    ), marked as (
      update tidemark.${listed} d set newest = $timeMs, missed_since = null, gone_since = null
      from compared c where d.id = c.id
    ), found as (
      update tidemark.${listed} d set missed_since = null from incoming i
      where d.id = i.id and i.missed_since is not null and not exists (select from compared c where c.id = d.id)
    )
    select coalesce((select array_agg(id) from incoming), '{}') as listed,
           (select count(*) from compared where fresh) as fresh,
           (select count(*) from compared where not fresh) as changed`;
}

function keepAllText(list: List): string {
  const { listed, states, id } = list.tables;
  const names = list.values.map(({ name }) => name).join(', ');
  return `
    with incoming as materialized (
      select d.id, ${list.values.map(storedValue).join(', ')}
      from $entries join tidemark.${listed} d using (${keyNames(list).join(', ')}) where ${isUnlistedYet}
    ), kept as (
      -- A file may have given the same time.
      insert into tidemark.${states} (${id}, time, ${names}) select id, $timeMs, ${names} from incoming
      on conflict do nothing returning 1
    ), found as (
      update tidemark.${listed} d set missed_since = null, gone_since = null
      from incoming i where d.id = i.id and d.missed_since is not null
    )
    select coalesce((select array_agg(id) from incoming), '{}') as listed, (select count(*) from kept) as fresh,
           0::bigint as changed`;
}
