/** The beginning of an answer that filled nothing stays beside what it was taken for. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.fetches add column body text;
    comment on column tidemark.fetches.body is
      'The beginning of the body, in one line, of an answer that did not fill its range; null: it did, or had none.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('alter table tidemark.fetches drop column body');
}
