/**
 * Ranges in which points may be stored outside coverage: the open candle, or points of a stale answer. A window that
 * touches neither this nor coverage holds no points, so a commit need not search a hundred chunks.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series add column uncovered_points tstzmultirange not null default '{}';
    comment on column tidemark.series.uncovered_points is
      'Ranges outside of covered in which points may be stored, such as that of an open candle.';
    update tidemark.series
       set uncovered_points = tstzmultirange(tstzrange(earliest, newest, '[]')) - covered
     where points > 0;
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('alter table tidemark.series drop column uncovered_points');
}
