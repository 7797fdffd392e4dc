/** What was done at the dashboard, and by whom. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    create table tidemark.actions (
      id        bigint generated always as identity primary key,
      time      timestamptz not null,
      action    text not null,
      request   jsonb not null,
      address   text not null,
      user_name text,
      state     text not null check (state in ('running', 'done', 'failed')),
      result    text,
      ended_at  timestamptz
    );
    comment on table tidemark.actions is
      'Actions at the dashboard, such as track or repair: who, when, what, and the result. Commands are not in it.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('drop table tidemark.actions;');
}
