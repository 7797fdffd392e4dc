import { expect, it } from 'vitest';
import { openWatched } from './watch-list-parts.ts';

const market = '--exchange binance --base bitcoin --quote tether';
const month = '--from 2024-03-01 --to 2024-04-01';

it('requests nothing while paused, and goes on when resumed', async () => {
  const { say, fails, simulator } = await openWatched();
  const backfill = `backfill candles ${market} --interval h1 ${month}`;
  expect(await say('pause')).toContain('paused: ');
  expect(await say('pause')).toBe('paused before\n');
  expect(await say('verify')).toBe('nothing is covered yet\n');
  for (const words of [backfill, 'markets --source binance']) await fails(words, 6, 'PAUSED');
  expect(simulator.requests().total).toBe(0);
  expect(await say('resume')).toBe('resumed\n');
  expect(await say('resume')).toBe('not paused\n');
  await say(backfill);
  await say('pause');
  expect(await say('status')).toMatch(/^requests are paused since 20/);
  await fails('verify', 6, 'PAUSED');
});

it('makes failed windows and refused series due, and leaves those that await a second answer', async () => {
  const { say, query } = await openWatched();
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
  expect(await say('retry binance bitcoin/tether h1')).toBe('1 range can be requested now\n');
  expect(await later()).toEqual(['h1 awaiting', 'm1 awaiting', 'm1 blocked', 'm1 failed']);
  await defer();
  expect(await say('retry')).toBe('2 ranges and 1 refused series can be requested now\n');
  expect(await later()).toEqual(['h1 awaiting', 'm1 awaiting']);
});
