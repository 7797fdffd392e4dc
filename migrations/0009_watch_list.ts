/** The watch list: its settings of each series, and lists that were polled only because its patterns need them. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series add column watch_ages jsonb;
    comment on column tidemark.series.watch_ages is
      'Ages (5y) that the watch list gives for its start, and the moments, in UNIX milliseconds, that each stands for.';

    alter table tidemark.lists add column decided boolean not null default true;
    comment on column tidemark.lists.decided is
      'Whether anybody said if it is to be polled; false: it was polled once, to resolve patterns of the watch list.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    delete from tidemark.lists where not decided;
    alter table tidemark.lists drop column decided;
    alter table tidemark.series drop column watch_ages;
  `);
}
