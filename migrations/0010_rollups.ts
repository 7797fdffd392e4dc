/** Candles of hours and days, derived from finer ones. They replace the continuous aggregates. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  const columns = `
      series_id integer not null,
      time      timestamptz not null,
      open      numeric not null,
      high      numeric not null,
      low       numeric not null,
      close     numeric not null,
      volume    numeric not null,
      points    bigint not null,
      primary key (series_id, time)`;
  pgm.sql(`
    create table tidemark.rollup_hours (${columns}
    );
    comment on table tidemark.rollup_hours is 'Hours of series whose interval is shorter.';

    create table tidemark.rollup_days (${columns}
    );
    comment on table tidemark.rollup_days is 'Days of series whose interval is shorter.';

    alter table tidemark.series add column rollups_behind tstzmultirange not null default '{}';
    comment on column tidemark.series.rollups_behind is
      'Days whose points have changed since they were rolled up: queries derive them from the points.';

    update tidemark.series
       set rollups_behind = tstzmultirange(tstzrange(
             date_bin('1 day', earliest, timestamptz 'epoch'),
             date_bin('1 day', newest, timestamptz 'epoch') + interval '24 hours'))
     where dataset = 'candles' and period < interval '24 hours' and earliest <= newest;
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series drop column rollups_behind;
    drop table tidemark.rollup_days, tidemark.rollup_hours;
  `);
}
