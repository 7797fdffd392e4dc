/** Sources beside the default one: which series they give, and the markets that they have. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    create table tidemark.series_sources (
      series_id integer not null references tidemark.series (id) on delete cascade,
      rank      smallint not null check (rank > 0),
      source    text not null,
      symbol    text not null,
      archive   boolean not null default false,
      blocked_until timestamptz,
      primary key (series_id, rank),
      unique (series_id, source)
    );
    create index series_sources_of on tidemark.series_sources (source, series_id);
    comment on table tidemark.series_sources is
      'The sources of a series, in order of preference. A series without a row has the default source.';
    comment on column tidemark.series_sources.symbol is 'The market as the source names it.';
    comment on column tidemark.series_sources.archive is
      'It gives whole months; the next source gives what is newer, and answers comparisons.';

    comment on column tidemark.series_sources.blocked_until is
      'It does not know the series, and is not asked until then. Of the only source the series itself is blocked.';

    create table tidemark.source_ranges (
      series_id integer not null references tidemark.series (id) on delete cascade,
      source    text not null,
      covered   tstzmultirange not null,
      primary key (series_id, source)
    );
    comment on table tidemark.source_ranges is
      'What each named source gave last. Coverage that is in no row comes from the default source or from a file.';

    create table tidemark.source_symbols (
      source    text not null,
      symbol    text not null,
      base      text not null,
      quote     text not null,
      listed_at timestamptz,
      trading   boolean not null,
      seen_at   timestamptz not null,
      primary key (source, symbol)
    );
    create index source_symbols_pair on tidemark.source_symbols (source, base, quote);
    comment on table tidemark.source_symbols is 'The markets of each source, as its newest list has them.';
    comment on column tidemark.source_symbols.listed_at is 'Start of trading; null: the source does not say.';

    create table tidemark.asset_aliases (
      source text not null,
      code   text not null,
      asset  text not null,
      primary key (source, code)
    );
    comment on table tidemark.asset_aliases is
      'Ids that stand for the codes of sources, from the watch list; an empty source: of every one.';

    create table tidemark.cross_differences (
      series_id integer not null references tidemark.series (id) on delete cascade,
      source    text not null,
      time      timestamptz not null,
      seen_at   timestamptz not null,
      kind      text not null check (kind in ('missing_here', 'missing_there', 'changed')),
      here      jsonb,
      there     jsonb,
      primary key (series_id, source, time)
    );
    comment on table tidemark.cross_differences is
      'Where another source differs from the stored points, with both values. Nothing is overwritten by it.';

    alter table tidemark.fetches add column source text;
    create index fetches_source on tidemark.fetches (source, time desc) where source is not null;
    alter table tidemark.pending_windows add column source text;
    comment on column tidemark.pending_windows.source is 'The source that could not give it; null: the default one.';
    comment on column tidemark.fetches.source is 'The source that was asked; null: the default one.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.pending_windows drop column source;
    drop index tidemark.fetches_source;
    alter table tidemark.fetches drop column source;
    drop table tidemark.asset_aliases, tidemark.cross_differences, tidemark.source_symbols, tidemark.source_ranges,
      tidemark.series_sources;
  `);
}
