/** Reads the trailing range again on a schedule, and counts values that the source changed. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series
      add column reread_at timestamptz,
      add column reread_round timestamptz,
      add column reread tstzmultirange not null default '{}',
      add column revised bigint not null default 0;
    comment on column tidemark.series.reread_at is 'When the newest re-reading of its trailing range was answered.';
    comment on column tidemark.series.reread_round is 'Start of the round in which that was.';
    comment on column tidemark.series.reread is 'What of the trailing range was read again in that round.';
    comment on column tidemark.series.revised is 'Values of closed periods that the source changed, as far as seen.';

    alter table tidemark.pending_windows add column of_covered boolean not null default false;
    comment on column tidemark.pending_windows.of_covered is
      'It is no gap, and holds off a reading of what is covered, such as of the trailing range.';

    -- Which lanes there are, model/request-range.ts says.
    alter table tidemark.fetches drop constraint if exists fetches_lane_check;
    alter table tidemark.fetches add column revised integer not null default 0;
    comment on column tidemark.fetches.revised is
      'Of the changed points, those of closed periods: their old values are kept.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    delete from tidemark.pending_windows where of_covered;
    alter table tidemark.pending_windows drop column of_covered;
    delete from tidemark.fetches where lane not in ('refresh', 'backfill', 'probe', 'poll');
    alter table tidemark.fetches drop column revised;
    alter table tidemark.fetches
      add constraint fetches_lane_check check (lane in ('refresh', 'backfill', 'probe', 'poll'));
    alter table tidemark.series drop column revised, drop column reread, drop column reread_round,
      drop column reread_at;
  `);
}
