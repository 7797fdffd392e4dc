/**
 * API keys of the service, stored as hashes, and the times of requests, by which its limits are enforced.
 *
 * The service works as a read-only role. It writes only through functions of the owner, each of which does
 * one thing, so it can neither read names or addresses nor write anything else.
 */

import type { MigrationBuilder } from 'node-pg-migrate';

export function up(pgm: MigrationBuilder): void {
  pgm.sql(`
    create table tidemark.api_keys (
      id             integer generated always as identity primary key,
      name           text not null,
      address        text,
      purpose        text,
      requested_at   timestamptz not null default now(),
      requested_from text,
      hash           bytea unique,
      issued_at      timestamptz,
      revoked_at     timestamptz,
      check ((hash is null) = (issued_at is null))
    );
    comment on table tidemark.api_keys is 'Keys of the service: asked for, issued, revoked.';
    comment on column tidemark.api_keys.requested_from is
      'Address of the request in the web form; null: issued at the command line.';
    comment on column tidemark.api_keys.hash is 'SHA-256 of the key, which is kept nowhere; null: not issued yet.';

    -- Lost in a crash of the server, which costs nobody more than a minute's budget.
    create unlogged table tidemark.request_times (
      caller text primary key,
      times  bigint[] not null,
      newest bigint not null
    ) with (fillfactor = 50);
    comment on table tidemark.request_times is
      'Requests of each caller of the service in the minute up to its newest, milliseconds since 1970.';

    create function tidemark.key_of(given bytea) returns integer
    language sql stable security definer set search_path = pg_catalog, pg_temp as $$
      select k.id from tidemark.api_keys k where k.hash = given and k.revoked_at is null
    $$;
    comment on function tidemark.key_of is
      'The id of the key with this hash; null when there is none, or it is revoked.';

    create function tidemark.admit_request(who text, per_minute integer, at_ms bigint default null,
      out admitted boolean, out used integer, out oldest_ms bigint, out now_ms bigint)
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare
      before bigint[];
      recent bigint[];
    begin
      insert into tidemark.request_times (caller, times, newest) values (who, '{}', 0) on conflict do nothing;
      select r.times into before from tidemark.request_times r where r.caller = who for update;
      -- Read under the lock, so that no request counts as earlier than one that was admitted before it.
      now_ms := coalesce(at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint);
      recent := array(select t from unnest(before) t where t > now_ms - 60000 order by t);
      admitted := cardinality(recent) < per_minute;
      if admitted then
        recent := recent || now_ms;
        update tidemark.request_times r set times = recent, newest = now_ms where r.caller = who;
      end if;
      used := cardinality(recent);
      oldest_ms := coalesce(recent[1], now_ms);
      -- Now and then, so that callers who came once do not stay.
      if random() < 0.001 then
        delete from tidemark.request_times r where r.caller in (
          select s.caller from tidemark.request_times s where s.newest < now_ms - 60000 for update skip locked
        );
      end if;
    end $$;
    comment on function tidemark.admit_request is
      'Counts a request of a caller, unless per_minute were made in the 60 seconds before it.';

    create function tidemark.ask_for_key(name text, address text, purpose text, asked_from text) returns text
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare
      pending integer;
      lately integer;
    begin
      perform pg_advisory_xact_lock(7241865325823966);
      select count(*), count(*) filter (where k.requested_from = asked_from and k.requested_at > now() - interval
        '1 hour')
      into pending, lately
      from tidemark.api_keys k where k.issued_at is null and k.revoked_at is null;
      if lately >= 3 then return 'throttled'; end if;
      if pending >= 1000 then return 'full'; end if;
      insert into tidemark.api_keys (name, address, purpose, requested_from)
      values (name, address, purpose, asked_from);
      return 'stored';
    end $$;
    comment on function tidemark.ask_for_key is
      'Stores a request for a key, at most 3 an hour from one address, and 1,000 that wait.';

    revoke all on function tidemark.key_of, tidemark.admit_request, tidemark.ask_for_key from public;
  `);
}

export function down(pgm: MigrationBuilder): void {
  pgm.sql(`
    drop function if exists tidemark.ask_for_key, tidemark.admit_request, tidemark.key_of;
    drop table tidemark.request_times, tidemark.api_keys;
  `);
}
