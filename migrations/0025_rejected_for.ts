/** The ledger has why rows were rejected: quarantine keeps each row once, for the first answer that had it. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.fetches add column rejected_for text;
    comment on column tidemark.fetches.rejected_for is
      'Why rows of the answer were rejected: the reason of the first one; null: none was.';
    comment on column tidemark.fetches.body is
      'The beginning of the body, in one line, of an answer that did not fill its range or had rejected rows.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('alter table tidemark.fetches drop column rejected_for');
}
