/**
 * Polled lists: now, at a time, and every stored row.
 *
 * "Now" finds the newest row of each entry by the time that is stored with it: one index probe each, in one
 * chunk. "At a time" searches backwards from there to the first row. Both are lateral with a limit, so that
 * the planner cannot turn them into a join, which would read every stored row.
 *
 * A row that says gone has the time of the first poll without the entry. It was known only with the poll that confirmed
 * it, a later one that found entries to be gone: "at a time" does not use the row before that.
 */

import { type SnapshotDataset, snapshotDatasets } from '../../model/lists.ts';
import { listShape } from '../../store/lists/shapes.ts';
import { example } from '../comments.ts';

interface Names {
  /** The view of the present list; `<now>_at` is the function. */
  readonly now: string;
  readonly every: string;
  readonly one: string;
}

const names: Readonly<Record<SnapshotDataset, Names>> = {
  assets: { now: 'assets', every: 'asset_snapshots', one: 'asset' },
  exchanges: { now: 'exchanges', every: 'exchange_snapshots', one: 'exchange' },
  markets: { now: 'markets', every: 'market_snapshots', one: 'market' },
  asset_markets: { now: 'asset_markets', every: 'asset_market_snapshots', one: 'market of an asset' },
};

const viewsOf = (dataset: SnapshotDataset) => {
  const { listed, snapshots, key, values } = listShape(dataset);
  const { now, every, one } = names[dataset];
  const of = (alias: string, columns: readonly string[]) => columns.map((c) => `${alias}.${c}`).join(', ');
  const keys = of('d', key);
  const columns = Object.keys(values);
  const ofList = `l.list = '${dataset}'${dataset === 'asset_markets' ? ' and l.asset = d.asset' : ''}`;
  const typed = [
    ...key.map((name) => `${name} text`),
    ...Object.entries(values).map(([name, type]) => `${name} ${type}`),
  ].join(', ');
  return `
create or replace view public.${now} as
  select ${keys}, ${of('s', columns)}, s.time, d.gone_since
  from ${listed} d
  cross join lateral (
    select time, ${columns.join(', ')} from ${snapshots}
    where listed_id = d.id and time >= d.newest and not gone order by time desc limit 1
  ) s;
comment on view public.${now} is
  'The newest state of each ${one}: time is when it was first seen so, gone_since when the source ceased to list it (null: it is listed).${example(`select * from ${now} limit 10`)}';

create or replace view public.${every} as
  select ${keys}, s.time, s.gone, ${of('s', columns)}
  from ${snapshots} s join ${listed} d on d.id = s.listed_id;
comment on view public.${every} is
  'Each change of each ${one}: its values from time on, or gone (without values): not listed from time on.${example(`select * from ${every} order by time desc limit 10`)}';

create or replace function public.${now}_at(at timestamptz)
returns table (${typed}, "time" timestamptz, gone_since timestamptz)
language sql stable parallel safe as $$
  select ${keys}, ${of('s', columns)}, s.time, g.time
  from ${listed} d
  cross join lateral (
    select time, ${columns.join(', ')} from ${snapshots}
    where listed_id = d.id and time <= at and not gone order by time desc limit 1
  ) s
  left join lateral (
    select time from ${snapshots}
    where listed_id = d.id and time > s.time and time <= at and gone order by time limit 1
  ) g on g.time < (
    select max(p.time) from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id
    where ${ofList} and p.gone > 0 and p.time <= at
  )
$$;
comment on function public.${now}_at is
  'The state of each ${one} at a time: what ${now} would have said then, as far as it was polled.${example(`select * from ${now}_at('2024-12-31') limit 10`)}';
`;
};

export const snapshots = `
create or replace view public.polls as
  select l.list, l.asset, p.time, p.begun_at, p.pages, p.rows, p.changed, p.gone, p.completed_at, p.given_up_at, p.reason
  from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id;
comment on view public.polls is
  'Every poll of a list: its rows, those that changed, those that went, and whether it was completed or given up.${example('select * from polls order by begun_at desc limit 10')}';
${snapshotDatasets.map(viewsOf).join('')}`;
