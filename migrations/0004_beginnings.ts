/**
 * The beginning of a series, as found by probes by days, so that the years before it cost a few requests and
 * not one a day. And the period that a row in quarantine belongs to.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.series
      add column begins timestamptz,
      add column before_beginning tstzmultirange not null default '{}',
      add column probe_after timestamptz;
    comment on column tidemark.series.begins is 'The first day for which a probe showed a point; null: not probed.';
    comment on column tidemark.series.before_beginning is
      'The part of confirmed_empty that was asked for by days, not at the series'' own interval.';
    comment on column tidemark.series.probe_after is 'A probe did not help: no other one until then.';

    alter table tidemark.fetches drop constraint if exists fetches_lane_check;
    alter table tidemark.fetches
      add constraint fetches_lane_check check (lane in ('refresh', 'backfill', 'probe', 'poll'));

    alter table tidemark.quarantine add column time timestamptz;
    comment on column tidemark.quarantine.time is
      'The time that the row gives for itself; null: it cannot be read either.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.quarantine drop column time;

    delete from tidemark.fetches where lane = 'probe';
    alter table tidemark.fetches drop constraint if exists fetches_lane_check;
    alter table tidemark.fetches
      add constraint fetches_lane_check check (lane in ('refresh', 'backfill', 'poll'));

    -- What was asked for by days only is not known to be empty without this table's say.
    update tidemark.series
       set covered = covered - before_beginning, confirmed_empty = confirmed_empty - before_beginning;
    alter table tidemark.series drop column probe_after, drop column before_beginning, drop column begins;
  `);
}
