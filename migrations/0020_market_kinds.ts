/**
 * Quotes that say how a market is settled (`tether:tether-261225`), and series of any dataset: `model/datasets/` has
 * them.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series
      drop constraint series_dataset_check, drop constraint series_check, drop constraint series_check1,
      add constraint series_of_market_or_asset
        check (num_nonnulls(exchange_id, base_id, quote_id) in (0, 3) and (exchange_id is null) <> (asset_id is null)),
      add column settle_id text generated always as (substring(quote_id from '^[^:]*:(.+?)(?:-\\d{6})?$')) stored,
      add column expiry text generated always as (substring(quote_id from '^[^:]*:.+-(\\d{6})$')) stored;
    comment on column tidemark.series.quote_id is
      'Asset of the prices; of a perpetual or future with what it is settled in: tether:tether, tether:tether-261225.';
    comment on column tidemark.series.settle_id is 'Asset of the settlement; null: a spot market, or an asset.';
    comment on column tidemark.series.expiry is 'Day of expiry of a future, YYMMDD; null: none.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series drop column settle_id, drop column expiry, drop constraint series_of_market_or_asset,
      add constraint series_dataset_check check (dataset in ('candles', 'asset_history')),
      add constraint series_check
        check ((dataset = 'candles') = (exchange_id is not null and base_id is not null and quote_id is not null)),
      add constraint series_check1 check ((dataset = 'asset_history') = (asset_id is not null));
  `);
}
