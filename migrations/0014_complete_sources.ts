/**
 * Completes the tables of 0011 in stores of its first two versions, which had fewer of them. Other stores have them
 * all.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  for (const [before, after] of [
    ['source_markets', 'source_symbols'],
    ['source_differences', 'cross_differences'],
  ]) {
    pgm.sql(`alter table if exists tidemark.${before} rename to ${after};
             alter index if exists tidemark.${before}_pkey rename to ${after}_pkey;`);
  }
  pgm.sql(`
    alter index if exists tidemark.source_markets_pair rename to source_symbols_pair;
    alter table tidemark.series_sources add column if not exists blocked_until timestamptz;
    comment on column tidemark.series_sources.blocked_until is
      'It does not know the series, and is not asked until then. Of the only source the series itself is blocked.';

    create table if not exists tidemark.source_ranges (
      series_id integer not null references tidemark.series (id) on delete cascade,
      source    text not null,
      covered   tstzmultirange not null,
      primary key (series_id, source)
    );
    comment on table tidemark.source_ranges is
      'What each named source gave last. Coverage that is in no row comes from the default source or from a file.';

    create table if not exists tidemark.asset_aliases (
      source text not null,
      code   text not null,
      asset  text not null,
      primary key (source, code)
    );
    comment on table tidemark.asset_aliases is
      'Ids that stand for the codes of sources, from the watch list; an empty source: of every one.';

    create index if not exists fetches_source on tidemark.fetches (source, time desc) where source is not null;
  `);
}

/** 0011 drops them. */
export function down(): void {}
