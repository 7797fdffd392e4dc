/** Lists without names in the schema: `model/lists/` has them. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.lists drop constraint lists_list_check, drop constraint lists_check;
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.lists
      add constraint lists_list_check check (list in ('assets', 'exchanges', 'markets', 'asset_markets', 'rates')),
      add constraint lists_check check ((list = 'asset_markets') = (asset is not null));
  `);
}
