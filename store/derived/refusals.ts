/** Refusals of what is not tracked, telling apart a name that nobody knows from a combination that is not there. */

export const refusals = `
create or replace function tidemark.refuse_market(exchange text, base text, quote text, interval_name text) returns void
language plpgsql stable parallel safe as $$
declare
  names text[];
  tracked text;
begin
  select coalesce(array_agg(distinct exchange_id), '{}') into names from tidemark.series where dataset = 'candles';
  if exchange = any (names) is not true then
    perform tidemark.refuse_name('exchange', exchange, names);
  end if;
  select array_agg(distinct base_id) into names from tidemark.series where dataset = 'candles';
  if base = any (names) is not true then perform tidemark.refuse_name('base', base, names); end if;
  select array_agg(distinct quote_id) into names from tidemark.series where dataset = 'candles';
  if quote = any (names) is not true then perform tidemark.refuse_name('quote', quote, names); end if;

  select string_agg(s.interval, ', ' order by s.period) into tracked from tidemark.series s
  where s.dataset = 'candles' and s.exchange_id = exchange and s.base_id = base and s.quote_id = quote;
  if tracked is not null then
    raise exception 'the candles of % %/% are not tracked at %, and do not follow from finer ones',
      exchange, base, quote, interval_name using errcode = '22023',
      hint = format('tracked: %s; from these follow: %s', tracked, (
        select coalesce(string_agg(d.interval, ', ' order by tidemark.interval_length(d.interval)), 'none')
        from tidemark.derived_series d where d.exchange_id = exchange and d.base_id = base and d.quote_id = quote));
  end if;
  select string_agg(name, ', ' order by name) into tracked from (
    select distinct format('%s %s/%s', exchange_id, base_id, quote_id) as name from tidemark.series
    where base_id = base and (quote_id = quote or exchange_id = exchange)
    order by 1 limit 12
  ) near;
  raise exception 'no market %/% is tracked on %', base, quote, exchange using errcode = '22023',
    hint = case when tracked is null then 'select * from coverage lists what is tracked'
                else format('tracked: %s', tracked) end;
end $$;

create or replace function tidemark.refuse_asset(asset text, interval_name text) returns void
language plpgsql stable parallel safe as $$
declare
  assets text[];
  tracked text;
begin
  select coalesce(array_agg(distinct asset_id), '{}') into assets from tidemark.series where dataset = 'asset_history';
  if asset = any (assets) is not true then
    perform tidemark.refuse_name('asset', asset, assets,
      case when exists (select from tidemark.series where base_id = asset)
           then ': its history is not tracked, though it is the base of a market' else '' end);
  end if;
  select string_agg(s.interval, ', ' order by s.period) into tracked from tidemark.series s where s.asset_id = asset;
  raise exception 'the price history of % is not tracked at %', asset, interval_name using errcode = '22023',
    hint = format('tracked: %s', tracked);
end $$;
`;
