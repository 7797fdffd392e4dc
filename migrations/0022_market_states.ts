/** The lists of markets of sources over time: each state of a market, and which ones their source lists no longer. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.source_symbols add column missed_at timestamptz, add column gone_since timestamptz;
    comment on column tidemark.source_symbols.missed_at is 'When its list first lacked it; null: the newest has it.';
    comment on column tidemark.source_symbols.gone_since is
      'When its list first lacked it, once the next one has lacked it too; null: it is listed.';

    create table tidemark.symbol_states (
      source         text not null,
      symbol         text not null,
      time           timestamptz not null,
      gone           boolean not null,
      base           text not null,
      quote          text not null,
      listed_at      timestamptz,
      trading        boolean not null,
      contract_size  numeric,
      contract_asset text,
      primary key (source, symbol, time)
    );
    comment on table tidemark.symbol_states is 'Each state of a market in the list of its source, from time on.';
    comment on column tidemark.symbol_states.contract_size is
      'Amount of contract_asset in one contract; null: amounts are in the base asset.';
    comment on column tidemark.symbol_states.contract_asset is 'Code of the asset that contract_size is an amount of.';
    insert into tidemark.symbol_states
      select source, symbol, seen_at, false, base, quote, listed_at, trading, contract_size, contract_asset
      from tidemark.source_symbols;
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    drop table tidemark.symbol_states;
    delete from tidemark.source_symbols where gone_since is not null;
    alter table tidemark.source_symbols drop column missed_at, drop column gone_since;
  `);
}
