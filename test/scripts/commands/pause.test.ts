import { expect, it } from 'vitest';
import { errorTable } from '../../../errors.ts';
import { findSeries } from '../../../store/status/series-history.ts';
import { runInProcess } from '../in-process.ts';
import { openWatched } from './watch-list-parts.ts';

const market = '--exchange binance --base bitcoin --quote tether';
const month = '--from 2024-03-01 --to 2024-04-01';

it.each(['pause', 'sources pause'])('help of %s has the exit code of commands that are refused', async (words) => {
  const { exit } = errorTable.PAUSED;
  const { stdout } = await runInProcess([...words.split(' '), '--help'], {});
  expect(stdout).toContain(`exits with ${exit} (PAUSED)`);
  const { stdout: all } = await runInProcess(['--help'], {});
  expect(all).toMatch(new RegExp(`^ +${exit} .*paused`, 'm'));
});

it('requests nothing while paused, and goes on when resumed', async () => {
  const { say, fails, query, simulator } = await openWatched();
  const backfill = `backfill candles ${market} --interval h1 ${month}`;
  expect(await say('pause')).toContain('paused: ');
  expect(await say('pause')).toBe('paused before\n');
  expect(await say('verify')).toBe('nothing is covered yet\n');
  for (const words of [backfill, 'markets --source binance']) await fails(words, 6, 'PAUSED');
  expect(await say('backfills')).toBe('nothing was asked for yet\n');
  expect(await query('select from tidemark.series')).toEqual([]);
  expect(simulator.requests().total).toBe(0);
  expect(await say('resume')).toBe('resumed\n');
  expect(await say('resume')).toBe('not paused\n');
  await say(backfill);
  await say('pause');
  expect(await say('status')).toMatch(/^requests are paused since 20\S+ \S+ by \S+@/);
  await fails('verify', 6, 'PAUSED');
});

it('makes failed windows and refused series due, and leaves those that await a second answer', async () => {
  const { say, fails, query } = await openWatched();
  await say(`track candles ${market} --interval h1,m1 ${month}`);
  expect(await say('retry')).toBe('nothing to retry: no range waits for its next attempt\n');
  const defer = () =>
    query(
      `delete from tidemark.pending_windows;
       insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
       select id, tstzrange(time, time + interval '1 day'), reason, 'HTTP 500', now(), now() + interval '6 hours'
       from tidemark.series, (values (timestamptz '2024-03-02', 'failed'), ('2024-03-05', 'awaiting')) w (time, reason);
       update tidemark.series set blocked_until = now() + interval '1 hour' where interval = 'm1'`,
    );
  const later = async () => {
    const rows = await query(
      `select interval || ' ' || reason as line
       from tidemark.pending_windows p join tidemark.series s on s.id = p.series_id
       where retry_at > now() union all
       select interval || ' blocked' from tidemark.series where blocked_until > now() order by 1`,
    );
    return rows.map(({ line }) => line);
  };
  await defer();
  const cost = "1 request to the source, 0.017 % of a minute's budget, about 1 s\n";
  expect(await say('retry binance bitcoin/tether h1')).toBe(`${cost}1 range can be requested now\n`);
  expect(await later()).toEqual(['h1 awaiting', 'm1 awaiting', 'm1 blocked', 'm1 failed']);
  expect(await say('retry binance bitcoin/tether h1')).toBe(
    'nothing to retry: 1 range that failed is due already: `gaps` says what it waits for\n',
  );
  await defer();
  expect(await say('retry BINANCE */tether h*')).toBe(`${cost}1 range can be requested now\n`);
  expect(await later()).toEqual(['h1 awaiting', 'm1 awaiting', 'm1 blocked', 'm1 failed']);
  await fails('retry binance * h', 2, 'UNKNOWN_SERIES');
  await defer();
  // A refused series is requested whole: 31 days, and what h1 deferred.
  expect(await say('retry')).toMatch(
    /^32 requests to the source, 0\.53 % of .*\n2 ranges and 1 refused series can be requested now\n$/,
  );
  expect(await later()).toEqual(['h1 awaiting', 'm1 awaiting']);
});

it('takes a pattern without a blank beside a quoted one', async () => {
  const { say, database } = await openWatched();
  await say(`track candles ${market} --interval h1,m1 ${month}`);
  const found = (...words: string[]) => findSeries(database, words);
  expect(await found('binance * m1', 'binance*h1')).toEqual(expect.arrayContaining([1, 2]));
  expect(await found('BINANCE', '*/tether', 'm*')).toHaveLength(1);
});

it('makes only those windows due that a range touches, each as a whole, and tells their cost', async () => {
  const { say, json, fails, query } = await openWatched();
  await say(`track candles ${market} --interval h1 ${month}`);
  await query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     select id, tstzrange(time, time + interval '2 days'), 'failed', 'HTTP 500', now(), now() + interval '6 hours'
     from tidemark.series, (values (timestamptz '2024-03-02'), ('2024-03-05')) w (time)`,
  );
  const due = () =>
    query('select lower(range)::date::text as day from tidemark.pending_windows where retry_at <= now()');
  for (const within of ['--to 2024-03-02', '--from 2024-03-04 --to 2024-03-05', '--from 2024-03-07'])
    expect(await say(`retry ${within}`)).toBe('nothing to retry: no range waits for its next attempt\n');
  expect(await due()).toEqual([]);
  // Within the last hour of the window, which is a period.
  expect(await json('retry --from 2024-03-03T23:30 --to 2024-03-03T23:40')).toEqual({
    ...{ ranges: 1, refusedSeries: 0, dueBefore: 0 },
    cost: [
      {
        ...{ source: 'default', requests: 1, cost: 1, unit: 'request', requestsPerMinute: 6000 },
        ...{ budgetShare: 1 / 6000, seconds: 0.01, queued: 0, left: null, paused: false, refusedUntil: null },
      },
    ],
  });
  expect(await due()).toEqual([{ day: '2024-03-02' }]);

  for (const command of ['retry', 'verify', 'repair', 'verify 1', 'repair --empty-older-than 30d']) {
    await fails(`${command} --from 2024-03-05 --to 2024-03-05`, 2, 'is not before --to 2024-03-05');
    await fails(`${command} --from 2999-01-01`, 2, 'lies in the future');
    await fails(
      `${command} --from 2024-02-01 --to 2024-03-01`,
      2,
      'nothing is tracked from 2024-02-01 to 2024-03-01: binance bitcoin/tether h1 is tracked from 2024-03-01 to 2024-04-01',
    );
  }
  expect(await say('verify --from 2024-03-05')).toMatch(/^nothing is covered yet from 2024-03-05 to /);
});
