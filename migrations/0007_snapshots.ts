/**
 * Snapshots: lists that the source gives only for the present (assets, exchanges, markets, the markets of an
 * asset), polled page by page. Only the changed rows of a poll are stored.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

const listed = `
      newest       timestamptz not null,
      missed_since timestamptz,
      gone_since   timestamptz`;

const snapshot = `
      listed_id integer not null,
      time      timestamptz not null,
      gone      boolean not null default false`;

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    create table tidemark.lists (
      id           integer generated always as identity primary key,
      list         text not null check (list in ('assets', 'exchanges', 'markets', 'asset_markets', 'rates')),
      asset        text,
      every        interval not null check (every > '0'),
      untracked_at timestamptz,
      retry_at     timestamptz,
      created_at   timestamptz not null default now(),
      check ((list = 'asset_markets') = (asset is not null)),
      unique nulls not distinct (list, asset)
    );
    comment on table tidemark.lists is 'What is polled, and how often.';
    comment on column tidemark.lists.retry_at is 'Its newest poll failed: no other one before then.';

    create table tidemark.list_polls (
      id           bigint generated always as identity primary key,
      list_id      integer not null references tidemark.lists (id) on delete cascade,
      begun_at     timestamptz not null,
      time         timestamptz,
      answered_at  timestamptz,
      pages        integer not null default 0,
      rows         integer not null default 0,
      changed      integer not null default 0,
      gone         integer not null default 0,
      unreadable   boolean not null default false,
      largest_page integer not null default 0,
      completed_at timestamptz,
      given_up_at  timestamptz,
      reason       text,
      check (completed_at is null or given_up_at is null),
      check ((given_up_at is null) = (reason is null))
    );
    create unique index list_polls_open on tidemark.list_polls (list_id) where completed_at is null and given_up_at is
      null;
    create index list_polls_newest on tidemark.list_polls (list_id, begun_at desc);
    comment on table tidemark.list_polls is
      'Every poll of a list, so that what did not change can be told from what was not asked for.';
    comment on column tidemark.list_polls.time is
      'The source''s time of its first page, and the time of every row kept of it.';
    comment on column tidemark.list_polls.answered_at is 'When its newest page came.';
    comment on column tidemark.list_polls.rows is 'Different rows that it brought.';
    comment on column tidemark.list_polls.changed is
      'Of those, rows that were kept: new ones, changed ones, and ones that came back.';

    comment on column tidemark.list_polls.unreadable is
      'A row of it could not be read, not even who it is of: anything may be missing because of it.';
    create index list_polls_time on tidemark.list_polls (list_id, time desc);

    create table tidemark.poll_pages (
      poll_id   bigint not null references tidemark.list_polls (id) on delete cascade,
      first_row integer not null,
      rows      integer not null,
      listed    integer[] not null,
      primary key (poll_id, first_row)
    );
    comment on table tidemark.poll_pages is 'The pages of polls that are not complete, and whom each of them lists.';

    create table tidemark.listed_assets (
      id    integer generated always as identity primary key,
      asset text not null unique,${listed}
    );
    create table tidemark.listed_exchanges (
      id       integer generated always as identity primary key,
      exchange text not null unique,${listed}
    );
    create table tidemark.listed_markets (
      id       integer generated always as identity primary key,
      exchange text not null,
      base     text not null,
      quote    text not null,${listed},
      unique (exchange, base, quote)
    );
    create table tidemark.listed_asset_markets (
      id            integer generated always as identity primary key,
      asset         text not null,
      exchange_name text not null,
      base          text not null,
      quote         text not null,${listed},
      unique (asset, exchange_name, base, quote)
    );
    comment on column tidemark.listed_assets.newest is 'Time of the newest kept row with values.';
    comment on column tidemark.listed_assets.missed_since is 'The newest complete poll lacks it; null: it does not.';
    comment on column tidemark.listed_assets.gone_since is
      'Two complete polls in a row lacked it, the first of them at this time; null: it is listed.';

    create table tidemark.asset_states (${snapshot},
      rank                bigint,
      symbol              text,
      name                text,
      supply              numeric,
      max_supply          numeric,
      market_cap_usd      numeric,
      volume_usd_24hr     numeric,
      price_usd           numeric,
      change_percent_24hr numeric,
      vwap_24hr           numeric,
      primary key (listed_id, time)
    );
    create table tidemark.exchange_states (${snapshot},
      name                 text,
      rank                 bigint,
      percent_total_volume numeric,
      volume_usd           numeric,
      trading_pairs        bigint,
      socket               boolean,
      exchange_url         text,
      updated              timestamptz,
      primary key (listed_id, time)
    );
    create table tidemark.market_states (${snapshot},
      rank                    bigint,
      base_symbol             text,
      quote_symbol            text,
      price_quote             numeric,
      price_usd               numeric,
      volume_usd_24hr         numeric,
      percent_exchange_volume numeric,
      trades_count_24hr       bigint,
      updated                 timestamptz,
      primary key (listed_id, time)
    );
    create table tidemark.asset_market_states (${snapshot},
      base_symbol     text,
      quote_symbol    text,
      volume_usd_24hr numeric,
      price_usd       numeric,
      volume_percent  numeric,
      primary key (listed_id, time)
    );
    comment on column tidemark.asset_states.gone is 'From this time on it is not listed; the row has no values.';

    alter table tidemark.currencies add column missed_since timestamptz, add column gone_since timestamptz;
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.currencies drop column gone_since, drop column missed_since;
    drop table tidemark.asset_market_states, tidemark.market_states, tidemark.exchange_states,
      tidemark.asset_states;
    drop table tidemark.listed_asset_markets, tidemark.listed_markets, tidemark.listed_exchanges,
      tidemark.listed_assets;
    drop table tidemark.poll_pages, tidemark.list_polls, tidemark.lists;
  `);
}
