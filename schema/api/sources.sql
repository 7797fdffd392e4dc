-- What sources have: their markets with the user's ids, and where they differ from the stored points; and what polls
-- and the dashboard did.

--: view public.polls
create or replace view public.polls as
  select l.list, l.asset, p.time, p.begun_at, p.pages, p.rows, p.changed, p.gone, p.completed_at, p.given_up_at,
         p.reason
  from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id;
comment on view public.polls is
  'Every poll of a list: its rows, those that changed, those that went, and whether it was completed or given up.
Example: select * from polls order by begun_at desc limit 10';

--: view public.source_markets
create or replace view public.source_markets as
  with listed as (
    -- A symbol that two assets share joins neither: names are not guessed.
    select symbol as code, min(asset) as asset from public.assets
    where gone_since is null and symbol is not null group by symbol having count(*) = 1
  ), known as (
    select m.source, c.code,
           coalesce(own.asset, any_source.asset, listed.asset, c.code) as id
    from (select distinct source from tidemark.source_symbols) m
    join (select source, base as code from tidemark.source_symbols
          union select source, asset from tidemark.source_symbols, tidemark.quote_parts(quote)
          union select source, settle from tidemark.source_symbols, tidemark.quote_parts(quote) where settle is not null
         ) c on c.source = m.source
    left join tidemark.asset_aliases own on own.source = m.source and own.code = c.code
    left join tidemark.asset_aliases any_source on any_source.source = '' and any_source.code = c.code
    left join listed on listed.code = c.code
  )
  select m.source, m.symbol, m.base, m.quote, b.id as base_id, tidemark.quote_text(q.id, s.id, p.expiry) as quote_id,
         m.listed_at, m.trading,
         case when p.settle is null then 'spot' when p.expiry is null then 'perpetual' else 'future' end as kind,
         p.settle, p.expiry, m.contract_size, m.contract_asset, m.gone_since
  from tidemark.source_symbols m
  cross join tidemark.quote_parts(m.quote) p
  join known b on b.source = m.source and b.code = m.base
  join known q on q.source = m.source and q.code = p.asset
  left join known s on s.source = m.source and s.code = p.settle;
comment on view public.source_markets is
  'The markets of each source: its symbols and codes, the ids that stand for them, what a contract is worth, and since
when the source lists it no longer.
Example: select * from source_markets where base_id = ''bitcoin'' and gone_since is null limit 10';

--: view public.source_market_snapshots
create or replace view public.source_market_snapshots as
  select source, symbol, time, gone, base, quote, listed_at, trading, contract_size, contract_asset
  from tidemark.symbol_states;
comment on view public.source_market_snapshots is
  'Each change of each market of a source: its values from time on, or gone (with the last values): not listed from time
on. Such as a contract that is worth less, a delisting, or a symbol that means another market.
Example: select * from source_market_snapshots order by time desc limit 10';

--: view public.source_coverage
create or replace view public.source_coverage as
  with named as (
    select series_id, source, covered from tidemark.source_ranges
    union all
    select s.id, null, s.covered - coalesce(
             (select range_agg(c.covered) from tidemark.source_ranges c where c.series_id = s.id), '{}')
    from tidemark.series s
  )
  select s.id as series_id, s.dataset, s.exchange_id as exchange, s.base_id as base, s.quote_id as quote,
         s.asset_id as asset, s.interval, n.source, lower(r) as from_time, upper(r) as to_time
  from named n join tidemark.series s on s.id = n.series_id, unnest(n.covered * s.covered) r;
comment on view public.source_coverage is
  'What is covered, by the source that gave it last; file: imported; null: not recorded.
Example: select * from source_coverage order by from_time limit 10';

--: view public.source_differences
create or replace view public.source_differences as
  select s.dataset, s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.asset_id as asset, s.interval,
         d.source, d.time, d.kind, d.here, d.there, d.seen_at
  from tidemark.cross_differences d join tidemark.series s on s.id = d.series_id;
comment on view public.source_differences is
  'Where another source differs from the stored points, with both values: found by verify --against.
Example: select * from source_differences order by seen_at desc limit 10';

--: view public.dashboard_actions
create or replace view public.dashboard_actions as
  select id, time, action, request, address, user_name, state, result, ended_at from tidemark.actions;
comment on view public.dashboard_actions is
  'Actions at the dashboard: when, what, by whom, and the result.
Example: select * from dashboard_actions order by time desc limit 10';
