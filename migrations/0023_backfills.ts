/** What asks for ranges of series: who, what, and how it ended. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    create table tidemark.backfills (
      id       bigint generated always as identity primary key,
      asked_at timestamptz not null,
      asked_by text not null,
      kind     text not null check (kind in ('backfill', 'track', 'watch_list', 'repair', 'verify')),
      state    text not null check (state in ('running', 'done', 'failed', 'cancelled', 'interrupted')),
      result   text,
      ended_at timestamptz,
      seen_at  timestamptz,
      progress jsonb
    );
    comment on table tidemark.backfills is
      'What asks for ranges of series: commands, the dashboard and the watch list; repairs and verifications too.';
    comment on column tidemark.backfills.asked_by is 'user@host of a command, an address at the dashboard, watch list.';
    comment on column tidemark.backfills.ended_at is 'Null: it may go on, also after its process has ended.';
    comment on column tidemark.backfills.seen_at is 'The last sign of life of its process; null: it has none.';
    comment on column tidemark.backfills.progress is 'Windows that a repair or a verification has settled.';

    create table tidemark.backfill_series (
      backfill_id bigint not null references tidemark.backfills on delete cascade,
      series_id   integer not null,
      range       tstzrange not null,
      before      tstzrange,
      after       tstzrange,
      primary key (backfill_id, series_id)
    );
    comment on table tidemark.backfill_series is 'The series of each backfill, and its range of them.';
    comment on column tidemark.backfill_series.before is
      'What was tracked of it before, to which cancel goes back; null: nothing.';
    comment on column tidemark.backfill_series.after is
      'What was tracked of it from then on; null: of a repair or a verification.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('drop table tidemark.backfill_series, tidemark.backfills;');
}
