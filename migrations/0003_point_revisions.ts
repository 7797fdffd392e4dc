/**
 * Renames the table of revisions: the public view is called `revisions`, and a role called `tidemark` finds
 * the schema of its own name first.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.revisions rename to point_revisions;
    alter index tidemark.revisions_pkey rename to point_revisions_pkey;
    alter index if exists tidemark.revisions_time_idx rename to point_revisions_time_idx;
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter index if exists tidemark.point_revisions_time_idx rename to revisions_time_idx;
    alter index tidemark.point_revisions_pkey rename to revisions_pkey;
    alter table tidemark.point_revisions rename to revisions;
  `);
}
