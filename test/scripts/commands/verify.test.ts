import { expect, it } from 'vitest';
import { decimalText } from '../../../model/decimal.ts';
import { dayMs, type EpochMs, minuteMs } from '../../../model/intervals.ts';
import type { CandleSeries, SeriesKey } from '../../../model/series.ts';
import { storedPoints, truthOf } from '../../pipeline/stored.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { openWatched } from './watch-list-parts.ts';

const minutes: CandleSeries = { ...bitcoinHours, interval: 'm1' };
const startMs = Date.UTC(2024, 2, 1);
const range = { startMs, endMs: startMs + 4 * dayMs };
const days = '--from 2024-03-01 --to 2024-03-05';
const kraken = '--exchange kraken --base ethereum --quote euro --interval m1';
const isEmptyAtOnce = { EMPTY_CONFIRM_SECONDS: '0' };
const nowhere = { SOURCE_URL: 'http://127.0.0.1:1/v2' };

/** Four days of minutes, which are four requests, and the hours of them, which are one. */
async function backfilled() {
  const watched = await openWatched();
  const { say, fails, simulator, database } = watched;
  await say(`backfill candles --exchange binance --base bitcoin --quote tether --interval m1,h1 ${days}`);
  const backfilledWith = simulator.requests().total;
  return {
    ...watched,
    /** The document of a command that ends with this exit code, and with this on standard error. */
    document: async (exitCode: number, words: string, said: string | RegExp = '') =>
      JSON.parse(await fails(`${words} --json`, exitCode, said)),
    /** Requests since the backfill. */
    asked: () => simulator.requests().total - backfilledWith,
    stored: (series: SeriesKey) => storedPoints(database, series),
    truth: (series: SeriesKey) => truthOf(simulator, series, range),
  };
}

const at = (timeMs: EpochMs) => new Date(timeMs).toISOString();
const changedMs = startMs + dayMs + 5 * minuteMs;
const lostMs = startMs + 2 * dayMs + 7 * minuteMs;
const extraMs = startMs + 3 * dayMs;
const verdictsOf = (lane: string) =>
  `select verdict, count(*)::int as requests from tidemark.fetches where lane = '${lane}' group by verdict order by verdict`;

it('compares a sample, changes nothing and costs one request per window', async () => {
  const { say, json, asked, query } = await backfilled();
  const points = 'select xmin, * from tidemark.candle_points order by series_id, time';
  const before = await query(points);
  expect(await json('verify')).toMatchObject({
    ...{ windows: 5, compared: 5, points: before.length },
    ...{ differing: 0, rewritten: 0, differences: [] },
  });
  expect(asked()).toBe(5);
  expect(await say('verify --sample 2')).toMatch(
    /compared 2 of 5 covered windows \(2 drawn\), [\d,]+ points, digit by digit: nothing differs/,
  );
  expect(asked()).toBe(7);
  const one = await json('verify binance bitcoin/tether H1 --all');
  expect(one).toMatchObject({ windows: 1, compared: 1, points: 96 });
  expect(await query(points)).toEqual(before);
  expect(await query(verdictsOf('verify'))).toEqual([{ verdict: 'same', requests: 8 }]);
  for (const table of ['asked_windows', 'differences', 'point_revisions'])
    expect(await query(`select * from tidemark.${table}`)).toEqual([]);
});

it('reports each difference with both values, and repair fixes them', async () => {
  const { simulator, say, fails, document, query, stored, truth, asked } = await backfilled();
  const price = decimalText('99999.12345678901234567890');
  const high = decimalText('100000');
  simulator.revise({ series: minutes, timeMs: changedMs, fromMs: 0, values: { close: price, high } });
  const [lost] = await query(
    `delete from tidemark.candle_points p using tidemark.series s
     where s.id = p.series_id and s.interval = 'm1' and p.time = $1 returning p.*`,
    [at(lostMs)],
  );
  await query(`update tidemark.series set points = points - 1 where interval = 'm1'`);
  // The same number, written otherwise.
  const [first] = truth(minutes);
  const open = decimalText(`${(first as { open: string }).open}000`);
  simulator.revise({ series: minutes, timeMs: startMs, fromMs: 0, values: { open } });

  const text = await fails(
    'verify --all',
    7,
    /^tidemark: DIFFERENCES_FOUND: 2 points in 2 of 5 compared windows differ from the source; /,
  );
  for (const line of [
    /binance bitcoin\/tether m1 \(1\), 2024-03-02 to 2024-03-03: 1 changed/,
    / {2}2024-03-02 00:05Z {2}.*close here [\d.]+, at the source 99999\.12345678901234567890/,
    / {2}2024-03-03 00:07Z {2}missing here, at the source open [\d.]+, /,
    /1 point equal as numbers with other digits/,
    /compared 5 of 5 covered windows/,
  ])
    expect(text).toMatch(line);

  const json = await document(7, 'verify --all');
  expect(json).toMatchObject({ differing: 2, rewritten: 1 });
  expect(json.differences).toMatchObject([
    { kind: 'changed', time: at(changedMs), there: { close: price, high } },
    { ...{ kind: 'missing_here', time: at(lostMs), here: null }, there: { open: lost?.open, volume: lost?.volume } },
  ]);
  expect(json.differences[0].here.close).not.toBe(price);
  expect(await query('select * from tidemark.point_revisions')).toEqual([]);
  expect(await query(verdictsOf('verify'))).toEqual([
    { verdict: 'differs', requests: 4 },
    { verdict: 'rewritten', requests: 2 },
    { verdict: 'same', requests: 4 },
  ]);

  const before = asked();
  expect(await say('repair')).toMatch(/requested 2 windows with differences again, 2 answered: 1 point new, 1 changed/);
  expect(asked() - before).toBe(2);
  const [, ...others] = truth(minutes);
  // The first keeps the digits in which it came first.
  expect(await stored(minutes)).toEqual([{ ...first, open: open.slice(0, -3) }, ...others]);
  expect(await query('select kind from tidemark.differences')).toEqual([]);
  expect(await query(`select before ->> 'close' as close from tidemark.point_revisions`)).toEqual([
    { close: json.differences[0].here.close },
  ]);
  expect(await query('select points::int, revised::int from tidemark.series where id = 1')).toEqual([
    { points: truth(minutes).length, revised: 1 },
  ]);
  await say('verify --all');
  expect(await say('repair')).toMatch(/no known differences/);
});

it('never deletes a point that the source no longer has, and reports it', async () => {
  const { say, fails, simulator, query, stored } = await backfilled();
  const before = await stored(minutes);
  simulator.revise({ series: minutes, timeMs: extraMs, fromMs: 0, values: null });
  expect(await fails('verify --all', 7, 'DIFFERENCES_FOUND')).toMatch(
    / {2}2024-03-04 {2}missing at the source, here open [\d.]+, high /,
  );
  const remains = /^tidemark: DIFFERENCES_REMAIN: 1 stored point that the source does not have; /;
  expect(await fails('repair --differences', 7, remains)).toMatch(/1 point stored here and not at the source: kept/);
  expect(await stored(minutes)).toEqual(before);
  expect(await query('select kind from tidemark.differences')).toEqual([{ kind: 'missing_there' }]);
  // Until the source has it again.
  const point = before.find((row) => 'period' in row && row.period === extraMs);
  simulator.revise({ series: minutes, timeMs: extraMs, fromMs: 0, values: point ?? null });
  await say('repair');
  await say('verify --all');
});

it('takes no empty answer for the repair of a point that is missing here', async () => {
  const { say, fails, simulator, query } = await backfilled();
  await query('delete from tidemark.candle_points where series_id = 1 and time = $1', [new Date(extraMs)]);
  await fails('verify --all', 7, 'DIFFERENCES_FOUND');
  simulator.setFaults({ emptyRate: 1 });
  await fails('repair', 3, 'WINDOWS_UNANSWERED');
  expect(await query('select kind from tidemark.differences')).toEqual([{ kind: 'missing_here' }]);
  simulator.setFaults({});
  expect(await say('repair')).toMatch(/1 point new/);
  await say('verify --all');
});

it('removes a point that the source does not have when it is told to, and keeps its values as a revision', async () => {
  const { say, fails, simulator, query, stored } = await backfilled();
  const before = await stored(minutes);
  simulator.revise({ series: minutes, timeMs: extraMs, fromMs: 0, values: null });
  await fails('verify --all', 7, 'DIFFERENCES_FOUND');
  const [{ at } = { at: '' }] = await query('select now()::text as at');
  expect(await say('repair --remove-absent')).toMatch(/1 point removed that the source does not have/);
  const rest = before.filter((row) => !('period' in row && row.period === extraMs));
  expect(await stored(minutes)).toEqual(rest);
  expect(await query('select points::int from tidemark.series where id = 1')).toEqual([{ points: rest.length }]);
  const [kept] = await query(`select before ->> 'close' as close from revisions where after is null`);
  const { exchange, baseId, quoteId, interval } = minutes;
  const known = (at: string) =>
    query(
      `select close::text from candles_as_known_at('${exchange}', '${baseId}', '${quoteId}', '${interval}', '${at}')
       where time = to_timestamp(${extraMs / 1000})`,
    );
  expect([await known(at), await known('2999-01-01')]).toEqual([[kept], [{ close: null }]]);
  await say('verify --all');
  expect(await say('repair')).toMatch(/no known differences/);
});

it('handles a source that truncates its answers, answers empty or fails', async () => {
  const { say, json, fails, simulator, asked, query } = await backfilled();
  simulator.setFaults({ maxRows: 400 });
  expect(await json('verify --all')).toMatchObject({ windows: 5, compared: 5, differing: 0 });
  // Four days of 1,440 minutes in pieces of 400, and the hours.
  expect(asked()).toBe(4 * 4 + 1);

  simulator.setFaults({ emptyRate: 1 });
  const unanswered =
    'WINDOWS_UNANSWERED: 5 windows could not be compared, the first: empty answer where points are stored';
  const empty = await fails('verify --all', 3, unanswered);
  expect(empty).toMatch(/^none of 5 covered windows could be compared$/m);
  expect(empty).not.toMatch(/missing/);
  expect(await json('status')).toMatchObject({
    series: [{ missingSeconds: 0 }, { missingSeconds: 0 }],
    budget: { verify: expect.any(Number) },
  });
  // One that does so now and then is asked until it answers.
  simulator.setFaults({ emptyRate: 0.3 });
  await say('verify --all');

  simulator.setFaults({ errorRate: 1 });
  const failed = /^tidemark: WINDOWS_UNANSWERED: 1 window could not be compared, the first: .*500/;
  await fails('verify --sample 1', 3, failed, { WORKER_ATTEMPTS: '1' });
  for (const table of ['differences', 'pending_windows'])
    expect(await query(`select * from tidemark.${table}`)).toEqual([]);
  await fails('verify', 4, 'SOURCE_UNREACHABLE', nowhere);
});

it('finds points that a truncated answer omitted, though the source truncates it again', async () => {
  const { say, document, simulator, query, truth, stored } = await backfilled();
  // As a version stored it that took the end of such an answer for a pause.
  const cutMs = startMs + dayMs + 1000 * minuteMs;
  const lost = await query(
    `delete from tidemark.candle_points p using tidemark.series s
     where s.id = p.series_id and s.interval = 'm1' and p.time >= $1 and p.time < $2 returning p.time`,
    [at(cutMs), at(startMs + 2 * dayMs)],
  );
  await query(`update tidemark.series set points = points - $1 where interval = 'm1'`, [lost.length]);
  const kept = (await stored(minutes)).filter(
    (row) => 'period' in row && Number(row.period) >= startMs + dayMs && Number(row.period) < cutMs,
  );
  simulator.setFaults({ maxRows: kept.length });
  expect(await document(7, 'verify --all')).toMatchObject({
    ...{ compared: 5, unbounded: 0, differing: 1, differingPoints: lost.length },
  });
  await say('repair');
  expect(await stored(minutes)).toEqual(truth(minutes));
  expect(await say('verify --all')).toMatch(/compared 5 of 5 covered windows, .*: nothing differs/);
});

it('reports unbounded windows, empty answers and periods of rejected rows as not verified', async () => {
  const { run, say, json, simulator, query } = await backfilled();
  const thin = '--exchange bitso --base xrp --quote mexican-peso --interval m1';
  await say(`backfill candles ${thin} --from 2024-03-01 --to 2024-03-15`);
  const outcome = await json<{ compared: number; unbounded: number }>('verify --all');
  expect(outcome).toMatchObject({ windows: 19, differing: 0, unanswered: [] });
  expect(outcome.unbounded).toBeGreaterThan(0);
  expect(outcome.compared + outcome.unbounded).toBe(19);

  simulator.setFaults({ emptyRate: 1 });
  await run(`backfill candles ${kraken} ${days}`, isEmptyAtOnce);
  expect(await say('verify --all kraken ethereum/euro m1')).toMatch(
    /4 windows not verified: unbounded, the answer may be truncated, or is empty \(the first: kraken ethereum\/euro m1 from 20/,
  );
  simulator.setFaults({});
  const [rejected] = await query(
    `insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw)
     select now(), dataset, id, tstzrange($1, $2), 'period: not a time', '{}' from tidemark.series
     where exchange_id = 'binance' and interval = 'm1' returning series_id as id`,
    [at(startMs), at(startMs + dayMs)],
  );
  expect(await say(`verify --all ${rejected?.id}`)).toMatch(
    /1 rejected row in quarantine: their periods were not compared/,
  );
});

it('reports windows with stored points whose rows are rejected as not compared', async () => {
  const { document, simulator, query, stored } = await backfilled();
  const before = await stored(minutes);
  const reject = (timeMs: EpochMs) =>
    simulator.revise({ series: minutes, timeMs, fromMs: 0, values: { high: decimalText('0.1') } });
  // One minute of a day, and a whole other day with the minutes beside it.
  reject(changedMs);
  for (let timeMs = extraMs - minuteMs; timeMs < range.endMs + minuteMs; timeMs += minuteMs) reject(timeMs);
  const unanswered = 'WINDOWS_UNANSWERED: 3 windows could not be compared, the first: ';
  const outcome = await document(3, 'verify --all', unanswered);
  expect(outcome).toMatchObject({ windows: 5, compared: 2, differing: 0 });
  expect(outcome.unanswered.map(({ message }: { message: string }) => message).sort()).toEqual([
    expect.stringMatching(/^1 stored point could not be compared: /),
    expect.stringMatching(/^1 stored point could not be compared: /),
    expect.stringMatching(/^no row of the answer was readable/),
  ]);
  expect(await query('select * from tidemark.differences')).toEqual([]);
  expect(await stored(minutes)).toEqual(before);
});

it('requests old empty ranges again, and not recent ones', async () => {
  const { run, say, json, simulator, query, database } = await openWatched();
  // A market that the source did not have at first, for two days: two requests, and two answers each.
  simulator.setFaults({ emptyRate: 1 });
  await run(`backfill candles ${kraken} --from 2024-03-01 --to 2024-03-03`, isEmptyAtOnce);
  simulator.setFaults({});
  const empties = () => query('select confirmed_empty::text as empty, points::int from tidemark.series order by id');
  const whole = '{["2024-03-01 00:00:00+00","2024-03-03 00:00:00+00")}';
  expect(await empties()).toEqual([{ empty: whole, points: 0 }]);

  const before = simulator.requests().total;
  const repair = 'repair --empty-older-than 30d';
  expect(await say(repair)).toMatch(/no known differences/);
  expect(simulator.requests().total).toBe(before);

  const age = () => query(`update tidemark.empty_answers set answered_at = now() - interval '40 days'`);
  await age();
  simulator.setFaults({ emptyRate: 1 });
  expect(await say(repair)).toMatch(/requested 2 windows confirmed empty again, 2 answered: nothing changed\n$/);
  expect(simulator.requests().total).toBe(before + 2);
  expect(await say(repair)).toMatch(/no known/);
  expect(await empties()).toEqual([{ empty: whole, points: 0 }]);

  await age();
  simulator.setFaults({});
  const found: SeriesKey = { ...minutes, exchange: 'kraken', baseId: 'ethereum', quoteId: 'euro' };
  const truth = truthOf(simulator, found, { startMs, endMs: startMs + 2 * dayMs });
  expect(await json(repair)).toMatchObject({ answered: 2, fresh: truth.length, remaining: [] });
  expect(await storedPoints(database, found)).toEqual(truth);
  expect(await empties()).toEqual([{ empty: '{}', points: truth.length }]);
  expect(await query(verdictsOf('repair'))).toEqual([
    { verdict: 'empty', requests: 2 },
    { verdict: 'filled', requests: 2 },
  ]);
});

it('requests the years before a series begins again, by days', async () => {
  const { fails, say, simulator, query, database } = await openWatched();
  const born: CandleSeries = { ...minutes, baseId: 'dogecoin' };
  const backfill =
    'backfill candles --exchange binance --base dogecoin --quote tether --interval m1 --from 2015-01-01 --to 2019-06-03';
  await say(backfill, isEmptyAtOnce);
  const age = () => query(`update tidemark.empty_answers set answered_at = now() - interval '40 days'`);
  await age();
  const repair = 'repair --empty-older-than 30d';
  const before = simulator.requests().total;
  // The years by days, and the day before the first point in minutes.
  expect(await say(repair)).toMatch(/requested 2 windows confirmed empty again, 2 answered: nothing changed\n$/);
  expect(simulator.requests().total - before).toBe(2);
  expect(await say(repair)).toMatch(/no known differences/);

  await age();
  const firstMs = Date.UTC(2018, 4, 1);
  const price = decimalText('1.10');
  const values = { open: price, high: price, low: price, close: price, volume: price };
  for (const interval of ['d1', 'm1'] as const)
    simulator.revise({ series: { ...born, interval }, timeMs: firstMs, fromMs: 0, values });
  const remain = /GAPS_REMAIN: .*dogecoin\/tether m1 has points before its beginning; /;
  expect(await fails(repair, 3, remain, isEmptyAtOnce)).toMatch(/dogecoin\/tether m1 begins earlier than known/);
  await say(backfill, isEmptyAtOnce);
  expect((await storedPoints(database, born))[0]).toEqual({ period: firstMs, ...values });
});

it('compares and repairs only the whole periods that a range touches, and tells what it costs before', async () => {
  const { simulator, say, fails, json, document, asked, query } = await backfilled();
  const part = '--from 2024-03-02T10:20:30 --to 2024-03-03T01:30';
  const verified = await json(`verify --all ${part}`);
  const before = await query(
    `select count(*)::int as points from tidemark.candle_points p join tidemark.series s on s.id = p.series_id
     where interval = 'm1' and time >= '2024-03-02T10:20Z' and time < '2024-03-03T01:30Z'
        or interval = 'h1' and time >= '2024-03-02T10:00Z' and time < '2024-03-03T02:00Z'`,
  );
  expect(verified).toMatchObject({ windows: 2, compared: 2, points: before[0]?.points });
  expect(verified.cost).toEqual([
    {
      ...{ source: 'default', requests: 2, cost: 2, unit: 'request', requestsPerMinute: 6000 },
      ...{ budgetShare: 2 / 6000, seconds: 0.02, queued: 0, left: null, paused: false, refusedUntil: null },
    },
  ]);
  expect(asked()).toBe(2);
  expect(await say(`verify --sample 1 ${part}`)).toMatch(
    /^1 request to the source, 0\.017 % of a minute's budget, about 1 s\ncompared 1 of 2 covered windows \(1 drawn\), /,
  );

  for (const timeMs of [changedMs, extraMs]) simulator.revise({ series: minutes, timeMs, fromMs: 0, values: null });
  const known = () => query('select time from tidemark.differences order by time');
  const [first, last] = [{ time: changedMs }, { time: extraMs }];
  await say(`verify --all --from ${at(changedMs + minuteMs)} --to ${at(extraMs)}`);
  expect(await known()).toEqual([]);
  await fails(
    `verify 1 --all --from ${at(changedMs)} --to ${at(changedMs + 1)}`,
    7,
    'DIFFERENCES_FOUND: 1 point in 1 of',
  );
  expect(await known()).toEqual([first]);
  await fails('verify --all', 7, 'DIFFERENCES_FOUND');
  expect(await known()).toEqual([first, last]);

  const last2 = `--from ${at(extraMs)} --to ${at(extraMs + dayMs)}`;
  expect(await say(`repair --from ${at(changedMs + minuteMs)} --to ${at(extraMs)}`)).toMatch(/^no known differences/);
  expect(await document(7, `repair ${last2}`, 'DIFFERENCES_REMAIN: 1 stored point')).toMatchObject({
    ...{ asked: { differences: 1, empties: 0 }, cost: [{ source: 'default', requests: 1 }] },
    remaining: [{ time: at(extraMs) }],
  });
  expect(await json(`repair --remove-absent ${last2}`)).toMatchObject({ removed: 1, remaining: [] });
  expect(await known()).toEqual([first]);
});

it('requests only those old empty ranges again that a range touches', async () => {
  const { run, say, simulator, query } = await openWatched();
  simulator.setFaults({ emptyRate: 1 });
  await run(`backfill candles ${kraken} --from 2024-03-01 --to 2024-03-03`, isEmptyAtOnce);
  await query(`update tidemark.empty_answers set answered_at = now() - interval '40 days'`);
  const repair = 'repair --empty-older-than 30d';
  expect(await say(`${repair} --from 2024-03-02T06:00 --to 2024-03-02T07:00`)).toMatch(
    /^1 request to the source, .*\nrequested 1 window confirmed empty again, 1 answered: nothing changed\n/,
  );
  expect(await query('select range::text from tidemark.fetches where lane = $1', ['repair'])).toEqual([
    { range: '["2024-03-02 06:00:00+00","2024-03-02 07:00:00+00")' },
  ]);
});

it('requests only those days before a beginning again that a range touches', async () => {
  const { say, query } = await openWatched();
  await say(
    'backfill candles --exchange binance --base dogecoin --quote tether --interval m1 --from 2015-01-01 --to 2019-06-03',
    isEmptyAtOnce,
  );
  await query(`update tidemark.empty_answers set answered_at = now() - interval '40 days'`);
  expect(await say('repair --empty-older-than 30d --from 2016-05-01T12:00 --to 2016-05-02T12:00')).toMatch(
    /^1 request to the source, .*\nrequested 1 window confirmed empty again, 1 answered: nothing changed\n/,
  );
  // A probe proves nothing about its last day.
  expect(await query('select range::text from tidemark.fetches where lane = $1', ['repair'])).toEqual([
    { range: '["2016-05-01 00:00:00+00","2016-05-04 00:00:00+00")' },
  ]);
});
