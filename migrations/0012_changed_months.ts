/** When the points of each month of a series last changed, so that a lake rewrites only the months that did. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  // Rows are updated in place as a backfill goes through a month: free space in each page keeps the index as it is.
  pgm.sql(`
    create table tidemark.changed_months (
      series_id  integer not null references tidemark.series (id) on delete cascade,
      month      date not null,
      changed_at timestamptz not null,
      primary key (series_id, month)
    ) with (fillfactor = 50);
    comment on table tidemark.changed_months is
      'When points of a month were last inserted or changed. Months that have not changed since 0012 have no row.';
    comment on column tidemark.changed_months.series_id is 'The series, tidemark.series.id.';
    comment on column tidemark.changed_months.month is 'First day of the month, UTC.';
    comment on column tidemark.changed_months.changed_at is
      'Of the newest change, by the clock of the database. It differs after each change.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('drop table tidemark.changed_months;');
}
