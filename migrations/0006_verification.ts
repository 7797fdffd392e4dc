/**
 * Verifies covered windows against the source, and repairs differences and ranges that were confirmed empty long ago.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    create table tidemark.empty_answers (
      series_id   integer not null references tidemark.series (id) on delete cascade,
      range       tstzrange not null,
      answered_at timestamptz not null,
      primary key (series_id, range)
    );
    comment on table tidemark.empty_answers is
      'When what is confirmed to be empty was last answered so. What is not in here was before this table was.';

    create table tidemark.differences (
      series_id integer not null references tidemark.series (id) on delete cascade,
      time      timestamptz not null,
      seen_at   timestamptz not null,
      kind      text not null check (kind in ('missing_here', 'missing_there', 'changed')),
      here      jsonb,
      there     jsonb,
      primary key (series_id, time)
    );
    comment on table tidemark.differences is
      'What verify found to differ from the source, with both values, until a repair or a later verify finds it equal.';

    create table tidemark.asked_windows (
      run           text not null,
      series_id     integer not null references tidemark.series (id) on delete cascade,
      range         tstzrange not null,
      answered_at   timestamptz not null,
      reached       tstzrange,
      kind          text,
      message       text,
      points        integer not null default 0,
      missing_here  integer not null default 0,
      missing_there integer not null default 0,
      changed       integer not null default 0,
      rewritten     integer not null default 0,
      fresh         integer not null default 0,
      revised       integer not null default 0,
      primary key (run, series_id, range)
    );
    comment on table tidemark.asked_windows is
      'What came of windows that a command asked for by itself, verify or repair, until that command has read it.';
    comment on column tidemark.asked_windows.reached is
      'What the answer settled; null: it could not be settled, as message says.';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql('drop table tidemark.asked_windows, tidemark.differences, tidemark.empty_answers');
}
