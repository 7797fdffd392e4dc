/**
 * How figures are computed: on NUMERIC throughout, to a stated number of digits. NUMERIC keeps every digit of a sum
 * and a product, so what is carried from row to row would grow without end; and a quotient has as many digits as its
 * operands suggest. Rounding settles both, and the text is the same on every server.
 */

export const figures = `
-- A ratio: a return, a share, a correlation. 16 fraction digits.
create or replace function tidemark.ratio(x numeric) returns numeric language sql immutable parallel safe as $$
  select round(x, 16)
$$;

-- A price: 16 fraction digits, as the service gives most of its own, and 28 below 0.0001.
create or replace function tidemark.price_figure(x numeric) returns numeric language sql immutable parallel safe as $$
  select round(x, case when abs(x) < 0.0001 then 28 else 16 end)
$$;

create or replace function tidemark.simple_return(price numeric, before numeric) returns numeric
language sql immutable parallel safe as $$
  select case when before <> 0 then round(price / before - 1, 16) end
$$;

create or replace function tidemark.log_return(price numeric, before numeric) returns numeric
language sql immutable parallel safe as $$
  select case when price > 0 and before > 0 then round(ln(price / before), 16) end
$$;

-- Periods in a year of 365 days: markets of crypto do not close.
create or replace function tidemark.periods_per_year(interval_name text) returns numeric
language sql immutable parallel safe as $$
  select 31536000 / extract(epoch from tidemark.interval_length(interval_name))
$$;

create or replace function tidemark.count_of(periods integer, at_least integer) returns integer
language plpgsql immutable parallel safe as $$
begin
  if periods >= at_least then return periods; end if;
  raise exception 'periods must be % or more, and is %', at_least, coalesce(periods::text, 'null') using errcode = '22023';
end $$;
`;
