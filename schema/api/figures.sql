-- How figures are rounded. They are computed on NUMERIC throughout, to a stated number of digits. NUMERIC keeps every
-- digit of a sum and a product, so a state that is carried from row to row would grow without bound, and a quotient has
-- as many digits as its operands suggest. With rounding, the text is the same on every server.

--: function tidemark.fine()
-- Added to a value before it is divided, averaged, or its deviation is taken. PostgreSQL computes these to the digits
-- of their operands, or to about 16 figures: of prices with two decimals, a deviation of 10,000 had eight.
create or replace function tidemark.fine() returns numeric language sql immutable parallel safe as $$
  select 0.0000000000000000000000000000
$$;
comment on function tidemark.fine is
  'Internal: zero with 28 decimals.';

--: function tidemark.ratio(numeric)
create or replace function tidemark.ratio(x numeric) returns numeric language sql immutable parallel safe as $$
  select round(x, 16)
$$;
comment on function tidemark.ratio is
  'Internal: a ratio rounded to 16 fraction digits.';

--: function tidemark.zeros_after_point(numeric)
-- From its text, because the logarithm of a small NUMERIC takes up to 10 ms.
create or replace function tidemark.zeros_after_point(x numeric) returns integer
language sql immutable parallel safe as $$
  select scale(x) - length(ltrim(abs(x)::text, '0.'))
$$;
comment on function tidemark.zeros_after_point is
  'Internal: of a number between -1 and 1 that is not 0, the zeros between the decimal point and the first other '
  'digit.';

--: function tidemark.price_figure(numeric)
-- A price: 16 fraction digits, as most of the source's; 28 below 0.1, and more where those would be fewer than 16
-- figures.
create or replace function tidemark.price_figure(x numeric) returns numeric language sql immutable parallel safe as $$
  select round(x, case when abs(x) >= 0.1 then 16
                       when abs(x) < 1e-12 and x <> 0 then 17 + tidemark.zeros_after_point(x) else 28 end)
$$;
comment on function tidemark.price_figure is
  'Internal: a price rounded to 16 fraction digits, below 0.1 to 28, and to no fewer than 16 figures.';

--: function tidemark.simple_return(numeric, numeric)
create or replace function tidemark.simple_return(price numeric, before numeric) returns numeric
language sql immutable parallel safe as $$
  select case when before <> 0 then tidemark.ratio((price + tidemark.fine()) / before - 1) end
$$;
comment on function tidemark.simple_return is
  'Internal: the return from one price to the next, 0.01 for 1 %; null after a price of zero.';

--: function tidemark.log_return(numeric, numeric)
create or replace function tidemark.log_return(price numeric, before numeric) returns numeric
language sql immutable parallel safe as $$
  select case when price > 0 and before > 0 then ln((price + tidemark.fine()) / before) end
$$;
comment on function tidemark.log_return is
  'Internal: the logarithmic return from one price to the next, to 28 decimals or more; null where one is not '
  'above zero.';

--: function tidemark.periods_per_year(text)
-- Periods in a year of 365 days: crypto markets do not close.
create or replace function tidemark.periods_per_year(interval_name text) returns numeric
language sql immutable parallel safe as $$
  select 31536000 / extract(epoch from tidemark.interval_length(interval_name))
$$;
comment on function tidemark.periods_per_year is
  'Internal: periods of an interval in a year of 365 days.';

--: function tidemark.count_of(integer, integer)
create or replace function tidemark.count_of(periods integer, at_least integer) returns integer
language plpgsql immutable parallel safe as $$
begin
  if periods >= at_least then return periods; end if;
  perform tidemark.assert_given('periods', periods is null);
  raise exception 'periods must be % or more, and is %', at_least, periods using errcode = '22023';
end $$;
comment on function tidemark.count_of is
  'Internal: a number of periods, refused where it is too small.';
