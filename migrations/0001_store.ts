/**
 * The store: series with their coverage, points, rates, the ledger of requests, revisions and quarantine.
 *
 * Tables are in the schema `tidemark`; the views that people query, with names instead of ids, in `public`.
 * With TimescaleDB the points, their revisions and the ledger are hypertables, without it plain tables of the
 * same shape. Points have no foreign key: it would be checked row by row, and a series is never deleted.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

export async function up(pgm: MigrationBuilder): Promise<void> {
  pgm.sql(`
    create table tidemark.series (
      id              integer generated always as identity primary key,
      dataset         text not null check (dataset in ('candles', 'asset_history')),
      exchange_id     text,
      base_id         text,
      quote_id        text,
      asset_id        text,
      interval        text not null,
      period          interval not null,
      tracked         tstzrange not null,
      untracked_at    timestamptz,
      covered         tstzmultirange not null default '{}',
      confirmed_empty tstzmultirange not null default '{}',
      points          bigint not null default 0,
      earliest        timestamptz,
      newest          timestamptz,
      refreshed_at    timestamptz,
      most_rows       integer not null default 0,
      most_rows_at    timestamptz,
      blocked_until   timestamptz,
      blocked_kind    text,
      blocked_message text,
      created_at      timestamptz not null default now(),
      check (not isempty(tracked) and not lower_inf(tracked)),
      check ((dataset = 'candles') = (exchange_id is not null and base_id is not null and quote_id is not null)),
      check ((dataset = 'asset_history') = (asset_id is not null)),
      unique nulls not distinct (dataset, exchange_id, base_id, quote_id, asset_id, interval)
    );
    comment on table tidemark.series is 'One line of points each, with what is wanted of it and what is known.';
    comment on column tidemark.series.tracked is 'The part the user wants; open-ended: up to the present.';
    comment on column tidemark.series.covered is
      'Asked for, answered and committed; never past the last closed period.';
    comment on column tidemark.series.confirmed_empty is 'The part of covered that two answers agreed to be empty.';
    comment on column tidemark.series.most_rows is 'Rows of the largest answer of late: a shorter one was not capped.';
    comment on column tidemark.series.blocked_until is 'The source refuses the whole series: no requests until then.';

    create table tidemark.candle_points (
      series_id integer not null,
      time      timestamptz not null,
      open      numeric not null,
      high      numeric not null,
      low       numeric not null,
      close     numeric not null,
      volume    numeric not null,
      primary key (series_id, time)
    );

    create table tidemark.asset_history_points (
      series_id integer not null,
      time      timestamptz not null,
      price_usd numeric not null,
      primary key (series_id, time)
    );

    create table tidemark.currencies (
      id              integer generated always as identity primary key,
      currency        text not null unique,
      symbol          text not null,
      currency_symbol text,
      type            text not null
    );

    create table tidemark.rate_points (
      currency_id integer not null,
      time        timestamptz not null,
      rate_usd    numeric not null,
      primary key (currency_id, time)
    );

    create table tidemark.fetches (
      time        timestamptz not null,
      dataset     text not null,
      series_id   integer,
      range       tstzrange,
      lane        text not null check (lane in ('refresh', 'backfill', 'poll')),
      attempt     integer not null,
      verdict     text not null,
      status      integer,
      fresh       integer not null default 0,
      changed     integer not null default 0,
      unchanged   integer not null default 0,
      rejected    integer not null default 0,
      bytes       bigint not null default 0,
      duration_ms integer not null,
      error       text
    );
    create index fetches_time on tidemark.fetches (time desc);
    create index fetches_series on tidemark.fetches (series_id, time desc);
    comment on table tidemark.fetches is 'The ledger: one row for each request that was made.';

    create table tidemark.revisions (
      series_id integer not null,
      time      timestamptz not null,
      seen_at   timestamptz not null,
      before    jsonb not null,
      primary key (series_id, time, seen_at)
    );
    comment on table tidemark.revisions is 'Values that the source later changed, as they were before.';

    create table tidemark.quarantine (
      id        bigint generated always as identity primary key,
      seen_at   timestamptz not null,
      dataset   text not null,
      series_id integer references tidemark.series (id) on delete cascade,
      range     tstzrange,
      reason    text not null,
      raw       text not null
    );
    create unique index quarantine_once
      on tidemark.quarantine (dataset, coalesce(series_id, 0), md5(reason), md5(raw));
    comment on table tidemark.quarantine is 'Rows of answers that failed validation, as they came, once each.';

    create table tidemark.pending_windows (
      series_id integer not null references tidemark.series (id) on delete cascade,
      range     tstzrange not null,
      verdict   text not null check (verdict in ('empty', 'failed', 'stale')),
      kind      text,
      message   text,
      attempts  integer not null default 1,
      first_at  timestamptz not null,
      retry_at  timestamptz not null,
      primary key (series_id, range)
    );
    comment on table tidemark.pending_windows is
      'Gaps that were asked for without success: not asked again before retry_at. Empty ones await a second answer.';

    create table tidemark.settings (
      name  text primary key,
      value text not null
    );
    comment on table tidemark.settings is 'Facts about this database, such as that its data is synthetic.';

    create view public.candles as
      select s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.interval,
             p.time, p.open, p.high, p.low, p.close, p.volume
      from tidemark.candle_points p join tidemark.series s on s.id = p.series_id;

    create view public.asset_history as
      select s.asset_id as asset, s.interval, p.time, p.price_usd
      from tidemark.asset_history_points p join tidemark.series s on s.id = p.series_id;

    create view public.rates as
      select c.currency, c.symbol, c.type, p.time, p.rate_usd
      from tidemark.rate_points p join tidemark.currencies c on c.id = p.currency_id;
  `);

  const timescale = await pgm.db.select(`select 1 from pg_extension where extname = 'timescaledb'`);
  if (timescale.length > 0) {
    // A chunk holds a month of points or a year of history: a few hundred thousand rows for tens of markets
    // at one minute, and about a hundred chunks for eleven years.
    pgm.sql(`
      select create_hypertable('tidemark.candle_points', by_range('time', interval '30 days'));
      select create_hypertable('tidemark.asset_history_points', by_range('time', interval '360 days'));
      select create_hypertable('tidemark.revisions', by_range('time', interval '360 days'));
      select create_hypertable('tidemark.rate_points', by_range('time', interval '30 days'));
      select create_hypertable('tidemark.fetches', by_range('time', interval '1 day'), create_default_indexes => false);
    `);
  }
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    drop view if exists public.rates, public.asset_history, public.candles;
    drop table tidemark.settings, tidemark.pending_windows, tidemark.quarantine, tidemark.revisions,
      tidemark.rate_points, tidemark.currencies, tidemark.asset_history_points, tidemark.candle_points;
    drop table tidemark.fetches;
    drop table tidemark.series;
  `);
}
