/** When the next point of a series of events is due. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series add column due_at timestamptz;
    comment on column tidemark.series.due_at is
      'No point is due before, as the newest one says; null: each period may have one.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('alter table tidemark.series drop column due_at');
}
