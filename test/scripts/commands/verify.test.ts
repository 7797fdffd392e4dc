import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { dayMs, type EpochMs, minuteMs } from '../../../contract/intervals.ts';
import type { CandleSeries, SeriesKey } from '../../../contract/series.ts';
import { migrateQueueBackend, type QueueBackendOptions } from '../../../queue/backend.ts';
import { startSimulator } from '../../../simulator/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { storedPoints, truthOf } from '../../pipeline/stored.ts';
import { emptyQueue } from '../../queue/queue-parts.ts';
import { market, start, tidemark } from '../command.ts';

const minutes: CandleSeries = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'm1',
};
const startMs = Date.UTC(2024, 2, 1);
const range = { startMs, endMs: startMs + 4 * dayMs };
const days = ['--from', '2024-03-01', '--to', '2024-03-05'];

function queueOptions(env: Readonly<Record<string, string>>): QueueBackendOptions {
  const { REDIS_URL, DATABASE_URL = '', QUEUE_NAMESPACE = '' } = env;
  return { redisUrl: REDIS_URL, databaseUrl: DATABASE_URL, namespace: QUEUE_NAMESPACE };
}

/** Four days of minutes, which are four requests, and the hours of them, which are one. */
async function backfilled(queue: 'postgres' | 'redis', more: Record<string, string> = {}) {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env: Record<string, string> = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_REQUESTS_PER_MINUTE: '0',
    PLANNING_TICK_MS: '200',
    QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}`,
    ...(queue === 'redis' ? { REDIS_URL: inject('redisUrl') ?? '' } : {}),
    ...more,
  };
  await migrateQueueBackend(queueOptions(env), 'up');
  const backfill = ['backfill', 'candles', ...market, '--interval', 'm1,h1', ...days];
  expect(await tidemark(backfill, env)).toMatchObject({ exitCode: 0, stderr: '' });
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 2,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(() => database.close());
  const query = async (sql: string, values: unknown[] = []) => (await database.pool.query(sql, values)).rows;
  const backfilledWith = simulator.requests().total;
  return {
    env,
    simulator,
    query,
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

function suite(queue: 'postgres' | 'redis') {
  it('compares a sample, changes nothing and costs one request per window', async () => {
    const { env, asked, query } = await backfilled(queue);
    const before = await query('select xmin, * from tidemark.candle_points order by series_id, time');
    const all = await tidemark(['verify', '--json'], env);
    expect(all.stderr).toBe('');
    expect(all.exitCode).toBe(0);
    const outcome = JSON.parse(all.stdout);
    expect(outcome).toMatchObject({ windows: 5, compared: 5, differing: 0, rewritten: 0, differences: [] });
    expect(outcome.points).toBe(before.length);
    expect(asked()).toBe(5);

    const some = await tidemark(['verify', '--sample', '2'], env);
    expect(some.exitCode).toBe(0);
    expect(some.stdout).toMatch(
      /compared 2 of 5 covered windows, [\d,]+ points, digit by digit: nothing differs/,
    );
    expect(asked()).toBe(7);

    const one = JSON.parse(
      (await tidemark(['verify', 'binance', 'bitcoin/tether', 'H1', '--all', '--json'], env)).stdout,
    );
    expect(one).toMatchObject({ windows: 1, compared: 1, points: 96 });

    expect(await query('select xmin, * from tidemark.candle_points order by series_id, time')).toEqual(
      before,
    );
    expect(
      await query(
        `select verdict, count(*)::int as requests from tidemark.fetches where lane = 'verify' group by verdict`,
      ),
    ).toEqual([{ verdict: 'same', requests: 8 }]);
    for (const table of ['asked_windows', 'differences', 'point_revisions']) {
      expect(await query(`select * from tidemark.${table}`)).toEqual([]);
    }
  });

  it('reports each difference with both values, and repair fixes them', async () => {
    const { env, simulator, query, stored, truth, asked } = await backfilled(queue);
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

    const text = await tidemark(['verify', '--all'], env);
    expect(text.exitCode).toBe(7);
    expect(text.stderr).toMatch(
      /^tidemark: DIFFERENCES_FOUND: 2 points in 2 of 5 compared windows differ from the source; /,
    );
    expect(text.stdout).toContain('binance bitcoin/tether m1 (1), 2024-03-02 to 2024-03-03: 1 changed');
    expect(text.stdout).toMatch(
      / {2}2024-03-02 00:05Z {2}.*close here [\d.]+, at the source 99999\.12345678901234567890/,
    );
    expect(text.stdout).toMatch(/ {2}2024-03-03 00:07Z {2}missing here, at the source open [\d.]+, /);
    expect(text.stdout).toMatch(/1 point equal as numbers with other digits/);
    expect(text.stdout).toMatch(/compared 5 of 5 covered windows/);

    const json = JSON.parse((await tidemark(['verify', '--all', '--json'], env)).stdout);
    expect(json).toMatchObject({ differing: 2, rewritten: 1 });
    expect(json.differences).toMatchObject([
      { kind: 'changed', time: at(changedMs), there: { close: price, high } },
      { kind: 'missing_here', time: at(lostMs), here: null, there: { open: lost.open, volume: lost.volume } },
    ]);
    expect(json.differences[0].here.close).not.toBe(price);
    expect(await query('select * from tidemark.point_revisions')).toEqual([]);
    const verdicts = await query(
      `select verdict, count(*)::int as requests from tidemark.fetches where lane = 'verify' group by verdict order by verdict`,
    );
    expect(verdicts).toEqual([
      { verdict: 'differs', requests: 4 },
      { verdict: 'rewritten', requests: 2 },
      { verdict: 'same', requests: 4 },
    ]);

    const before = asked();
    const repaired = await tidemark(['repair'], env);
    expect(repaired).toMatchObject({ exitCode: 0, stderr: '' });
    expect(repaired.stdout).toMatch(
      /requested 2 windows with differences again, 2 answered: 1 point new, 1 changed/,
    );
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
    expect((await tidemark(['verify', '--all'], env)).exitCode).toBe(0);
    expect((await tidemark(['repair'], env)).stdout).toMatch(/no known differences/);
  });

  it('never deletes a point that the source no longer has, and reports it', async () => {
    const { env, simulator, query, stored } = await backfilled(queue);
    const before = await stored(minutes);
    simulator.revise({ series: minutes, timeMs: extraMs, fromMs: 0, values: null });
    const verified = await tidemark(['verify', '--all'], env);
    expect(verified.exitCode).toBe(7);
    expect(verified.stdout).toMatch(/ {2}2024-03-04 {2}missing at the source, here open [\d.]+, high /);
    const repaired = await tidemark(['repair', '--differences'], env);
    expect(repaired.exitCode).toBe(7);
    expect(repaired.stderr).toMatch(
      /^tidemark: DIFFERENCES_REMAIN: 1 stored point that the source does not have; /,
    );
    expect(repaired.stdout).toMatch(/1 point stored here and not at the source: kept/);
    expect(await stored(minutes)).toEqual(before);
    expect(await query('select kind from tidemark.differences')).toEqual([{ kind: 'missing_there' }]);
    // Until the source has it again.
    const point = before.find((row) => 'period' in row && row.period === extraMs);
    simulator.revise({ series: minutes, timeMs: extraMs, fromMs: 0, values: point ?? null });
    expect(await tidemark(['repair'], env)).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await tidemark(['verify', '--all'], env)).exitCode).toBe(0);
  });

  it('handles a source that truncates its answers, answers empty or fails', async () => {
    const { env, simulator, asked, query } = await backfilled(queue);
    simulator.setFaults({ maxRows: 400 });
    const capped = await tidemark(['verify', '--all', '--json'], env);
    expect(capped).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(capped.stdout)).toMatchObject({ windows: 5, compared: 5, differing: 0 });
    // Four days of 1,440 minutes in pieces of 400, and the hours.
    expect(asked()).toBe(4 * 4 + 1);

    simulator.setFaults({ emptyRate: 1 });
    const empty = await tidemark(['verify', '--all'], env);
    expect(empty.exitCode).toBe(3);
    expect(empty.stderr).toMatch(
      /WINDOWS_UNANSWERED: 5 windows could not be compared, the first: empty answer where points are stored/,
    );
    expect(empty.stdout).toMatch(/compared 0 of 5 covered windows/);
    expect(empty.stdout).not.toMatch(/missing/);
    const status = JSON.parse((await tidemark(['status', '--json'], env)).stdout);
    expect(status.series.map((one: { missingSeconds: number }) => one.missingSeconds)).toEqual([0, 0]);
    expect(status.budget?.verify).toBeGreaterThan(0);
    expect(await query('select * from tidemark.differences')).toEqual([]);

    // One that does so now and then is asked until it answers.
    simulator.setFaults({ emptyRate: 0.3 });
    expect(await tidemark(['verify', '--all'], env)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await query('select * from tidemark.differences')).toEqual([]);
    expect(await query('select * from tidemark.pending_windows')).toEqual([]);

    simulator.setFaults({ errorRate: 1 });
    const down = await tidemark(['verify', '--sample', '1'], { ...env, WORKER_ATTEMPTS: '1' });
    expect(down.exitCode).toBe(3);
    expect(down.stderr).toMatch(
      /^tidemark: WINDOWS_UNANSWERED: 1 window could not be compared, the first: .*500/,
    );
    expect(await query('select * from tidemark.pending_windows')).toEqual([]);
    const nowhere = await tidemark(['verify'], { ...env, SOURCE_URL: 'http://127.0.0.1:1/v2' });
    expect(nowhere.exitCode).toBe(4);
    expect(nowhere.stderr).toMatch(/SOURCE_UNREACHABLE/);
  });

  it('finds points that a truncated answer omitted, though the source truncates it again', async () => {
    const { env, simulator, query, truth, stored } = await backfilled(queue);
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
    const verified = await tidemark(['verify', '--all', '--json'], env);
    expect(verified.exitCode).toBe(7);
    expect(JSON.parse(verified.stdout)).toMatchObject({
      compared: 5,
      unbounded: 0,
      differing: 1,
      differingPoints: lost.length,
    });
    expect((await tidemark(['repair'], env)).exitCode).toBe(0);
    expect(await stored(minutes)).toEqual(truth(minutes));
    const text = (await tidemark(['verify', '--all'], env)).stdout;
    expect(text).toMatch(/compared 5 of 5 covered windows, .*: nothing differs/);
  });

  it('reports unbounded windows as not verified', async () => {
    const { env } = await backfilled(queue);
    const thin = ['--exchange', 'bitso', '--base', 'xrp', '--quote', 'mexican-peso', '--interval', 'm1'];
    const backfill = ['backfill', 'candles', ...thin, '--from', '2024-01-01', '--to', '2024-01-15'];
    expect((await tidemark(backfill, env)).exitCode).toBe(0);
    const outcome = JSON.parse((await tidemark(['verify', '--all', '--json'], env)).stdout);
    expect(outcome).toMatchObject({ windows: 19, differing: 0, unanswered: [] });
    expect(outcome.unbounded).toBeGreaterThan(0);
    expect(outcome.compared + outcome.unbounded).toBe(19);
    const { exitCode, stdout } = await tidemark(['verify', '--all'], env);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`compared ${outcome.compared} of 19 covered windows`));
    expect(stdout).toMatch(/\d+ windows? not verified: unbounded, /);
  });

  it('reports empty answers and periods of rejected rows as not verified', async () => {
    const { env, simulator, query } = await backfilled(queue, { EMPTY_CONFIRM_SECONDS: '0' });
    simulator.setFaults({ emptyRate: 1 });
    const other = ['--exchange', 'kraken', '--base', 'ethereum', '--quote', 'euro', '--interval', 'm1'];
    await tidemark(['backfill', 'candles', ...other, ...days], env);
    const [{ id }] = await query(`select id::text from tidemark.series where exchange_id = 'kraken'`);
    const empty = await tidemark(['verify', '--all', id], env);
    expect(empty.exitCode).toBe(0);
    expect(empty.stdout).toMatch(
      /4 windows not verified: unbounded, the answer may be truncated, or is empty/,
    );

    simulator.setFaults({});
    const [minutesRow] = await query(
      `insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw)
       select now(), dataset, id, tstzrange($1, $2), 'period: not a time', '{}' from tidemark.series
       where exchange_id = 'binance' and interval = 'm1' returning series_id::text as id`,
      [at(startMs), at(startMs + dayMs)],
    );
    const rejected = await tidemark(['verify', '--all', minutesRow.id], env);
    expect(rejected.exitCode).toBe(0);
    expect(rejected.stdout).toMatch(/1 rejected row in quarantine: their periods were not compared/);
  });

  it('reports windows with stored points whose rows are rejected as not compared', async () => {
    const { env, simulator, query, stored } = await backfilled(queue);
    const before = await stored(minutes);
    const reject = (timeMs: EpochMs) =>
      simulator.revise({ series: minutes, timeMs, fromMs: 0, values: { high: decimalText('0.1') } });
    // One minute of a day, and a whole other day with the minutes beside it.
    reject(changedMs);
    for (let timeMs = extraMs - minuteMs; timeMs < range.endMs + minuteMs; timeMs += minuteMs) reject(timeMs);
    const verified = await tidemark(['verify', '--all', '--json'], env);
    expect(verified.exitCode).toBe(3);
    expect(verified.stderr).toMatch(/WINDOWS_UNANSWERED: 3 windows could not be compared, the first: /);
    const outcome = JSON.parse(verified.stdout);
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
    const { env, simulator, asked, query, stored } = await backfilled(queue);
    // A market that the source did not have at first, for two days: two requests, and two answers each.
    simulator.setFaults({ emptyRate: 1 });
    const other = ['--exchange', 'kraken', '--base', 'ethereum', '--quote', 'euro', '--interval', 'm1'];
    const confirm = { ...env, EMPTY_CONFIRM_SECONDS: '0' };
    const range = ['--from', '2024-03-01', '--to', '2024-03-03'];
    await tidemark(['backfill', 'candles', ...other, ...range], confirm);
    simulator.setFaults({});
    const empties = () =>
      query(
        `select confirmed_empty::text as empty, points::int from tidemark.series where exchange_id = 'kraken'`,
      );
    const whole = '{["2024-03-01 00:00:00+00","2024-03-03 00:00:00+00")}';
    expect(await empties()).toEqual([{ empty: whole, points: 0 }]);

    const before = asked();
    const none = await tidemark(['repair', '--empty-older-than', '30d'], env);
    expect(none).toMatchObject({ exitCode: 0, stderr: '' });
    expect(none.stdout).toMatch(/no known differences/);
    expect(asked()).toBe(before);

    const age = (days: number) =>
      query(`update tidemark.empty_answers set answered_at = now() - make_interval(days => $1)`, [days]);
    await age(40);
    simulator.setFaults({ emptyRate: 1 });
    const renewed = await tidemark(['repair', '--empty-older-than', '30d'], env);
    expect(renewed.exitCode).toBe(0);
    expect(renewed.stdout).toMatch(
      /requested 2 windows confirmed empty again, 2 answered: 0 points new, 0 changed/,
    );
    expect(asked()).toBe(before + 2);
    expect((await tidemark(['repair', '--empty-older-than', '30d'], env)).stdout).toMatch(/no known/);
    expect(await empties()).toEqual([{ empty: whole, points: 0 }]);

    await age(40);
    simulator.setFaults({});
    const overturned = await tidemark(['repair', '--empty-older-than', '30d', '--json'], env);
    expect(overturned).toMatchObject({ exitCode: 0, stderr: '' });
    const kraken: SeriesKey = { ...minutes, exchange: 'kraken', baseId: 'ethereum', quoteId: 'euro' };
    const truth = truthOf(simulator, kraken, { startMs, endMs: startMs + 2 * dayMs });
    expect(JSON.parse(overturned.stdout)).toMatchObject({ answered: 2, fresh: truth.length, remaining: [] });
    expect(await stored(kraken)).toEqual(truth);
    expect(await empties()).toEqual([{ empty: '{}', points: truth.length }]);
    expect(
      await query('select verdict from tidemark.fetches where lane = $1 order by time', ['repair']),
    ).toEqual(['empty', 'empty', 'filled', 'filled'].map((verdict) => ({ verdict })));
  });

  it('requests the years before a series begins again, by days', async () => {
    const { env, simulator, asked, query, stored } = await backfilled(queue);
    const born: CandleSeries = { ...minutes, baseId: 'dogecoin' };
    const other = ['--exchange', 'binance', '--base', 'dogecoin', '--quote', 'tether', '--interval', 'm1'];
    const confirm = { ...env, EMPTY_CONFIRM_SECONDS: '0' };
    const backfill = ['backfill', 'candles', ...other, '--from', '2015-01-01', '--to', '2019-06-03'];
    expect(await tidemark(backfill, confirm)).toMatchObject({ exitCode: 0, stderr: '' });
    await query(`update tidemark.empty_answers set answered_at = now() - interval '40 days'`);
    const repair = ['repair', '--empty-older-than', '30d'];
    const before = asked();
    const renewed = await tidemark(repair, env);
    expect(renewed).toMatchObject({ exitCode: 0, stderr: '' });
    // The years by days, and the day before the first point in minutes.
    expect(renewed.stdout).toMatch(/requested 2 windows confirmed empty again, 2 answered: 0 points new/);
    expect(asked() - before).toBe(2);
    expect((await tidemark(repair, env)).stdout).toMatch(/no known differences/);

    await query(`update tidemark.empty_answers set answered_at = now() - interval '40 days'`);
    const firstMs = Date.UTC(2018, 4, 1);
    const price = decimalText('1.10');
    const values = { open: price, high: price, low: price, close: price, volume: price };
    simulator.revise({ series: { ...born, interval: 'd1' }, timeMs: firstMs, fromMs: 0, values });
    simulator.revise({ series: born, timeMs: firstMs, fromMs: 0, values });
    const overturned = await tidemark(repair, confirm);
    expect(overturned.exitCode).toBe(3);
    expect(overturned.stdout).toMatch(/dogecoin\/tether m1 begins earlier than known/);
    expect(overturned.stderr).toMatch(/GAPS_REMAIN: .*dogecoin\/tether m1 has points before its beginning; /);
    expect(await tidemark(backfill, confirm)).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await stored(born))[0]).toEqual({ period: firstMs, ...values });
  });

  it('joins running workers, and leaves nothing queued when it is stopped', async () => {
    const { env, simulator } = await backfilled(queue);
    const worker = start(['worker'], env);
    const isThere = async () => (await tidemark(['status', '--check', 'worker'], env)).exitCode === 0;
    await waitFor('the worker', isThere);
    // It could fetch nothing itself.
    const joined = await tidemark(['verify', '--all'], { ...env, SOURCE_URL: 'http://127.0.0.1:1/v2' });
    expect(joined).toMatchObject({ exitCode: 0, stderr: '' });
    expect(joined.stdout).toMatch(/^compared 5 of 5 covered windows, /);

    simulator.setFaults({ timeoutRate: 1 });
    const before = simulator.requests().total;
    const verifying = start(['verify', '--all'], env);
    await waitFor('a request', () => simulator.requests().total > before);
    verifying.kill('SIGINT');
    const stopped = await verifying.ended;
    expect(stopped.exitCode).toBe(130);
    expect(stopped.stdout).toContain(
      'compared 0 of 5 covered windows, 0 points, digit by digit: nothing differs so far',
    );
    expect(stopped.stderr).toMatch(
      /INTERRUPTED: stopped after 0 windows; run the same command again: it starts over/,
    );
    worker.kill('SIGKILL');
    await worker.ended;
    const status = JSON.parse((await tidemark(['status', '--json'], env)).stdout);
    expect(status.queue.waiting + status.queue.delayed).toBe(0);
  });

  it('requests windows again that were lost with the queue or its worker', async () => {
    const { env, simulator, query } = await backfilled(queue);
    simulator.setFaults({ latencyMs: 1500 });
    const slow = { ...env, WORKER_CONCURRENCY: '1' };
    const verifying = start(['verify', '--all', '--json'], slow);
    await waitFor('two requests', () => simulator.requests().total >= 7);
    // As a flushed Redis does: what waits is gone.
    await emptyQueue(queueOptions(env));
    simulator.setFaults({});
    const ended = await verifying.ended;
    expect(ended.exitCode).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ windows: 5, compared: 5, differing: 0 });
    expect(await query('select * from tidemark.asked_windows')).toEqual([]);
  });
}

it('verify and repair reject bad arguments before any request', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  // Nothing listens there.
  const env = { DATABASE_URL: url, SOURCE_URL: 'http://127.0.0.1:1/v2' };
  const cases: [string[], RegExp][] = [
    [['verify', 'bitcoin'], /UNKNOWN_SERIES: no series has the id or the name "bitcoin"/],
    [['verify', '99'], /UNKNOWN_SERIES: no series has the id or the name "99"/],
    [['repair', '99'], /UNKNOWN_SERIES: no series has the id or the name "99"/],
    [['verify', '--sample', '0'], /BAD_ARGUMENT: --sample "0"/],
    [['verify', '--sample', '3', '--all'], /BAD_ARGUMENT: .*--all/],
    [['repair', '--empty-older-than', 'yesterday'], /BAD_ARGUMENT: --empty-older-than "yesterday"/],
  ];
  for (const [words, line] of cases) {
    const ended = await tidemark(words, env);
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toMatch(line);
  }
  const nothing = await tidemark(['verify'], env);
  expect(nothing).toMatchObject({ exitCode: 0, stderr: '' });
  expect(nothing.stdout).toMatch(/^nothing is covered yet/);
});

describe('tidemark verify and repair, queue on PostgreSQL', () => suite('postgres'));
describeNeeding('redis', 'tidemark verify and repair, queue on Redis', () => suite('redis'));
