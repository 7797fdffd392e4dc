/** The newest point within coverage of each series, from which a refresh reaches back: an open candle may be newer. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series add column newest_covered timestamptz;
    comment on column tidemark.series.newest_covered is
      'Time of the newest point within coverage; null: not known yet. An open candle may be newer.';
    -- The last covered period may have no point. The next refresh corrects it.
    update tidemark.series set newest_covered = least(newest, upper(covered) - period)
    where newest is not null and covered <> '{}';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('alter table tidemark.series drop column newest_covered');
}
