/** The reason of each deferred window in place of its verdict, and whether each request was sent. */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.pending_windows drop constraint pending_windows_verdict_check;
    -- Renamed, not dropped: views of the earlier version and of users read the column.
    alter table tidemark.pending_windows rename column verdict to reason;
    update tidemark.pending_windows set reason = case
      when reason = 'stale' then 'stale'
      when reason = 'empty' then case kind
        when 'probe' then 'awaiting_days' when 'silent' then 'silent' when 'unusual' then 'unusual' else 'awaiting' end
      when kind = 'truncated' then 'truncated'
      when kind = 'unreadable' then 'unreadable'
      when kind = 'store' then 'not_stored'
      when kind = 'incomplete' then case
        when message like '%older ones cannot be requested there' then 'beyond_depth'
        when message = 'no row of the answer was readable, or none belonged to the window' then 'unusable_file'
        when message = 'the answer has rows of this period that differ' then 'disputed'
        else 'lacks' end
      else 'failed' end;
    update tidemark.pending_windows set kind = null where reason <> 'failed';
    comment on column tidemark.pending_windows.reason is 'Why it is deferred: a reason of tidemark.gap_reasons.';
    comment on column tidemark.pending_windows.kind is 'Kind of the error; null unless the reason is failed.';

    alter table tidemark.fetches add column sent boolean not null default true;
    comment on column tidemark.fetches.sent is
      'Whether a connection was made. A request that was not sent costs nothing.';
    -- The words are those of Node.js's errors.
    update tidemark.fetches set sent = false
    where verdict = 'unreachable' and error ~ ': (connect E|getaddrinfo E|the proxy at )';
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    alter table tidemark.fetches drop column sent;
    update tidemark.pending_windows set kind = case
      when reason = 'failed' then kind
      when reason = 'awaiting_days' then 'probe'
      when reason = 'not_stored' then 'store'
      when reason in ('lacks', 'unusable_file', 'disputed', 'beyond_depth') then 'incomplete'
      else reason end;
    update tidemark.pending_windows set reason = case
      when reason in ('awaiting', 'awaiting_days', 'silent', 'unusual') then 'empty'
      when reason = 'stale' then 'stale'
      else 'failed' end;
    alter table tidemark.pending_windows rename column reason to verdict;
    alter table tidemark.pending_windows add check (verdict in ('empty', 'failed', 'stale'));
  `);
}
