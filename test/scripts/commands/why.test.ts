import { expect, it } from 'vitest';
import { afterRefusal } from '../../../planning/source-refusal.ts';
import { changeRefusal } from '../../../store/settings/source-refusal.ts';
import { openWatched } from './watch-list-parts.ts';

const series = '--exchange binance --base bitcoin --quote tether --interval h1';

it('explains what is tracked, covered, missing and why, past requests and changes, and what comes next', async () => {
  const { say, query } = await openWatched();
  await say(`backfill candles ${series} --from 2024-03-01 --to 2024-03-05`);
  const name = 'why binance bitcoin/tether h1';
  const whole = await say(name);
  expect(whole).toMatch(/^binance bitcoin\/tether h1, id 1\nTracked from 2024-03-01 to 2024-03-05, since /);
  expect(whole).toContain('Covered: 100 % of the closed range; 96 points stored.');
  expect(whole).toMatch(
    /Last requests:\n {2}.* backfill 2024-03-01 to 2024-03-05: filled, 96 new, 0 changed, 0 unchanged \(/,
  );
  expect(whole).toContain('Next: nothing now: no range is missing.');
  expect(whole).not.toMatch(/Missing|quarantine|Changed/);

  await say('backfill history --asset bitcoin --interval h1 --from 2d');
  expect(await say('why bitcoin h1')).toMatch(
    /^Next: refresh of .+ to .+, (?:from .+:01Z on, when the open h1 period has closed|when a worker .+)\.$/m,
  );

  await say(`track candles ${series} --from 2024-03-01 --to 2024-04-10`);
  await query(`
    insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
    values (1, '[2024-03-05Z, 2024-03-06Z)', 'failed', 'status 500', now(), now() + interval '1 hour');
    insert into tidemark.point_revisions (series_id, time, seen_at, before)
    values (1, '2024-03-02 05:00Z', '2024-03-02 09:00Z', '{"close": "1.50"}');
    insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw)
    values (now(), 'candles', 1, 'high below low', '{"high":"1"}');
    update tidemark.series set revised = 1`);
  const row = (last: string) => `{"high":"1.${'0'.repeat(250)}${last}"}`;
  await query(`
    update tidemark.fetches set rejected = 2, rejected_for = 'they differ', body = '${row('5')}, ${row('7')}';
    insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw)
    values (now(), 'candles', 1, 'too long', '${row('9')}')`);
  const stdout = await say('why 1');
  expect(stdout).toContain(`0 unchanged; 2 rows rejected: they differ: ${row('5')}, ${row('7')} (`);
  expect(stdout).toContain(`too long: ${row('9')}\n`);
  expect(stdout).toMatch(/^Missing, 2 gaps:\n {2}2024-03-05 to 2024-03-06, 1 d: failed: status 500 \(again at /m);
  expect(stdout).toContain('2024-03-06 to 2024-04-10, 35 d: waits until a worker is connected');
  expect(stdout).toMatch(/^Next: backfill of 2024-03-06 to 2024-04-05, when a worker is connected\.$/m);
  expect(stdout).toContain('1 value; the newest:\n  2024-03-02 05:00Z was close 1.50 until 2024-03-02 09:00Z');
  expect(stdout).toMatch(/In quarantine, 2 rows; the newest:\n.*\n.*high below low: {"high":"1"}/);

  await say(`track candles ${series.replace('h1', 'd1')} --from 2024-03-01 --to 2024-03-05`);
  await query(`
    insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
    select id, tracked, 'failed', 'status 500', now(), now() + interval '1 minute'
    from tidemark.series where interval = 'd1'`);
  const deferred = await say('why binance bitcoin/tether d1');
  const [, due] = / \(again at (.+)\)/.exec(deferred) ?? [];
  expect(deferred).toContain(`Next: backfill of 2024-03-01 to 2024-03-05, from ${due} on.`);

  await say('untrack 1');
  const untracked = await say(name);
  expect(untracked).toMatch(/Was tracked .* untracked since .* Stored points stay/);
  expect(untracked).not.toContain('Next');
});

it('says when a series was read, by how much it is behind, or since when it is silent, as status does', async () => {
  const { say, json, query } = await openWatched();
  await say('backfill history --asset bitcoin --interval h1 --from 10d');
  const said = async () => {
    // In the last hour of a day a reread is next.
    const of = (text: string) => /\b(?:read|behind|silent) .*?(?= *$|\.$)/m.exec(text)?.[0];
    const [why, status] = [of(await say('why bitcoin h1')), of(await say('status'))];
    expect(why?.replace(/\d+ s ago$/, '')).toBe(status?.replace(/\d+ s ago$/, ''));
    return status;
  };
  const document = async () => (await json<{ series: object[] }>('status')).series[0];
  expect(await said()).toMatch(/^read \d+ s ago$/);
  expect(await document()).toMatchObject({ behindPeriods: 0, silentSince: null, readAt: expect.any(String) });
  await query(`update tidemark.series set newest = newest - interval '5 hours'`);
  expect(await said()).toMatch(/^silent since \d{4}-\d\d-\d\d(?: \d\d:00Z)?, asked \d+ s ago$/);
  expect(await document()).toMatchObject({ behindPeriods: 0, silentSince: expect.stringContaining(':00:00.000Z') });
  await query(
    `update tidemark.series set newest = newest - interval '5 hours',
       covered = tstzmultirange(tstzrange(lower(covered), upper(covered) - interval '10 hours'))`,
  );
  expect(await said()).toMatch(/^behind by 1[01] periods$/);
  expect(await document()).toMatchObject({ behindPeriods: expect.any(Number), silentSince: null });
  // Nothing is awaited of an ended range.
  await query('update tidemark.series set tracked = tstzrange(lower(tracked), upper(covered))');
  expect(await said()).toBeUndefined();
});

it.each([
  'sources: { kraken: { profil: kraken } }',
  'sources: { other: { profile: unknown } }',
  'sources: { default: { ranges: { candles: { h9: 1d } } } }',
])('goes on without the sources of a watch list that are wrong, like status and gaps: %s', async (text) => {
  const { say, fails, write } = await openWatched();
  await say(`track candles ${series} --from 2024-03-01 --to 2024-03-05`);
  write(text);
  for (const [words, shown] of [
    ['gaps', 'binance bitcoin/tether h1'],
    ['status', 'binance bitcoin/tether h1'],
    ['why 1', 'Tracked from 2024-03-01'],
  ] as const)
    expect(await fails(words, 0, 'the sources of the watch list are left out')).toContain(shown);
  await fails('plan', 2, 'BAD_WATCH_LIST');
});

it('suggests the nearest series for an unknown one', async () => {
  const { fails, say } = await openWatched();
  await say(`track candles ${series} --from 2024-03-01 --to 2024-03-05`);
  for (const [words, line] of [
    ['why binance bitcoin/tethr h1', 'did you mean "binance bitcoin/tether h1"?'],
    ['why Binance bitcoin', 'did you mean "binance bitcoin/tether h1"?'],
    ['why 7', 'no series has the id or the name "7"'],
  ] as const)
    await fails(words, 2, line);
});

it('names what each source would be asked for next, and promises nothing that no source has', async () => {
  const { say, query, database } = await openWatched();
  await say(
    'track candles --exchange binance --base bitcoin --quote tether --interval m1 --from 2024-03-02 --to 2024-05-01',
  );
  const gives = (...sources: string[]) =>
    query(`delete from tidemark.series_sources;
           insert into tidemark.series_sources (series_id, source, symbol, rank, archive)
           select 1, name, 'BTCUSDT', place, name ~ 'archive'
           from unnest('{${sources}}'::text[]) with ordinality u (name, place)`);
  await gives('kraken');
  expect(await say('why 1')).toMatch(/^Next: nothing now; .* no source has it\.$/m);
  await gives('binance-archive', 'binance');
  expect(await say('why 1')).toMatch(/^Next of binance: backfill of 2024-03-02 to 2024-03-02 16:40Z/m);
  await query("update tidemark.series set begins = '2017-01-01Z'");
  expect(await say('why 1')).toMatch(/^Next of binance-archive: backfill of 2024-03-02 to 2024-04-01, when a worker/m);
  const [message, startedMs] = ['status 451', Date.now()];
  const refusal = { kind: 'country_refused', message, startedMs, nowMs: startedMs, retryAtMs: null };
  await changeRefusal(database, 'binance-archive', () => afterRefusal(null, refusal));
  expect(await say('why 1')).toMatch(/^Next of binance-archive: .+, when binance-archive accepts requests again/m);
});

it('names the answers that confirmed a silence, and who gave them', async () => {
  const { say, query } = await openWatched();
  await say(`backfill candles ${series} --from 2024-03-01 --to 2024-03-05`);
  await query(`
    update tidemark.series_sources set source = 'coinbase', symbol = 'BTC-USDT';
    delete from tidemark.candle_points where time >= '2024-03-02Z' and time < '2024-03-03Z';
    update tidemark.series set confirmed_empty = '{[2024-03-02Z, 2024-03-03Z)}';
    delete from tidemark.fetches;
    insert into tidemark.fetches (time, dataset, series_id, range, lane, attempt, verdict, fresh, changed, unchanged,
                                  rejected, bytes, duration_ms, source)
    select '2024-03-06 10:00Z'::timestamptz + n * interval '1 hour', 'candles', 1, '[2024-03-02Z, 2024-03-03Z)',
           'backfill', 1, case n when 1 then 'empty' else 'confirmed_empty' end, 0, 0, 0, 0, 0, 5, 'coinbase'
    from generate_series(1, 2) n`);
  const said = async () => /^Confirmed empty:\n {2}(.*)$/m.exec(await say('why 1'))?.[1];
  expect(await said()).toBe(
    '2024-03-02 to 2024-03-03, 1 d: 2024-03-06 11:00Z by coinbase (empty) and 2024-03-06 12:00Z by coinbase ' +
      '(confirmed empty)',
  );
  await query('delete from tidemark.fetches');
  expect(await said()).toBe('2024-03-02 to 2024-03-03, 1 d: older answers are not in the ledger');
});
