/** The name `default` in place of null for the source of SOURCE_URL. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    insert into tidemark.series_sources (series_id, rank, source, symbol)
    select id, 1, 'default', '' from tidemark.series
    where id not in (select series_id from tidemark.series_sources);
    -- Few series have other sources: finding them reads nothing of the others.
    create index series_sources_other on tidemark.series_sources (series_id) where source <> 'default';
    comment on table tidemark.series_sources is 'The sources of a series, in order of preference.';
    comment on column tidemark.series_sources.symbol is
      'The market as the source names it; empty where a request names the exchange.';

    alter table tidemark.pending_windows alter column source set default 'default';
    update tidemark.pending_windows set source = 'default' where source is null;
    alter table tidemark.pending_windows alter column source set not null;
    comment on column tidemark.pending_windows.source is 'The source that could not give it.';

    alter table tidemark.fetches alter column source set default 'default';
    update tidemark.fetches set source = 'default' where source is null;
    alter table tidemark.fetches alter column source set not null;
    comment on column tidemark.fetches.source is 'The source that was asked.';
    drop index tidemark.fetches_source;
    create index fetches_source on tidemark.fetches (source, time desc);

    comment on table tidemark.source_ranges is
      'What each source, or a file, gave last. Of coverage that is in no row it is not recorded.';

    update tidemark.settings set name = replace(name, 'longest_range ', 'longest_range@default ')
    where name like 'longest\\_range %';
    update tidemark.settings set name = 'source.refusal@default' where name = 'source.refusal';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    update tidemark.settings set name = 'source.refusal' where name = 'source.refusal@default';
    update tidemark.settings set name = replace(name, 'longest_range@default ', 'longest_range ')
    where name like 'longest\\_range@default %';
    drop index tidemark.fetches_source;
    alter table tidemark.fetches alter column source drop not null, alter column source drop default;
    update tidemark.fetches set source = null where source = 'default';
    create index fetches_source on tidemark.fetches (source, time desc) where source is not null;
    alter table tidemark.pending_windows alter column source drop not null, alter column source drop default;
    update tidemark.pending_windows set source = null where source = 'default';
    delete from tidemark.source_ranges where source in ('default', 'file');
    drop index tidemark.series_sources_other;
    delete from tidemark.series_sources where source = 'default';
  `);
}
