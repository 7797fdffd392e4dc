/**
 * Points of perpetuals and futures: candles of computed prices, funding, open interest and ratios. `model/datasets/`
 * has them. What a contract of a market is worth, as its source lists it.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

const prices = 'open numeric not null, high numeric not null, low numeric not null, close numeric not null';

/** Tables and their values. */
const tables = {
  mark_candle_points: prices,
  index_candle_points: prices,
  premium_candle_points: prices,
  funding_rate_points: 'rate numeric not null, interval_hours numeric, mark_price numeric, delay_ms numeric',
  open_interest_points: 'amount numeric not null, value numeric',
  long_short_ratio_points:
    'ratio numeric, long_share numeric, short_share numeric, top_accounts_ratio numeric, ' +
    'top_positions_ratio numeric, taker_ratio numeric',
};

export function up(pgm: MigrationBuilder): void {
  for (const [name, values] of Object.entries(tables))
    pgm.sql(`
      create table tidemark.${name} (
        series_id integer not null, time timestamptz not null, ${values}, primary key (series_id, time)
      );
    `);
  pgm.sql(`
    alter table tidemark.source_symbols add column contract_size numeric, add column contract_asset text,
      add constraint source_symbols_contract check ((contract_size is null) = (contract_asset is null));
    comment on column tidemark.source_symbols.contract_size is
      'Amount of contract_asset in one contract; null: amounts are in the base asset.';
    comment on column tidemark.source_symbols.contract_asset is 'Code of the asset that contract_size is an amount of.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  for (const name of Object.keys(tables)) pgm.sql(`drop table tidemark.${name}`);
  pgm.sql(`
    alter table tidemark.source_symbols drop constraint source_symbols_contract, drop column contract_size,
      drop column contract_asset;
  `);
}
