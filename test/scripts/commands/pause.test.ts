import { expect, it } from 'vitest';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs } from '../command.ts';
import { openWatched } from './watch-list-parts.ts';

const market = '--exchange binance --base bitcoin --quote tether';
const month = '--from 2024-03-01 --to 2024-04-01';

it(
  'requests nothing while paused, and goes on when resumed',
  async () => {
    const { begin, run, say, simulator } = await openWatched();
    const paused = { exitCode: 6, stderr: expect.stringContaining('PAUSED') };
    expect(await say('pause')).toContain('paused: ');
    expect(await say('pause')).toBe('paused before\n');
    await say(`track candles ${market} --interval h1 ${month}`);
    begin('run --no-serve');
    await waitFor('its headline', async () => /^requests are paused since 20/.test(await say('status')));
    for (const words of [`backfill candles ${market} --interval h1 ${month}`, 'markets --source binance'])
      expect(await run(words)).toMatchObject(paused);
    expect(await say('verify')).toBe('nothing is covered yet\n');
    expect(simulator.requests().total).toBe(0);
    expect(await say('resume')).toBe('resumed\n');
    expect(await say('resume')).toBe('not paused\n');
    await waitFor('the points', async () => /^up to date/.test(await say('status')));
    expect(await say('pause')).toContain('paused: ');
    expect(await run('verify')).toMatchObject(paused);
  },
  processesMs,
);

it('makes failed windows and refused series due, and leaves those that await a second answer', async () => {
  const { say, query } = await openWatched();
  await say(`track candles ${market} --interval h1,m1 ${month}`);
  expect(await say('retry')).toBe('nothing to retry: no range waits for its next attempt\n');
  const defer = async () => {
    await query('delete from tidemark.pending_windows');
    await query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       select id, tstzrange(time, time + interval '1 day'), verdict, 'HTTP 500', now(), now() + interval '6 hours'
       from tidemark.series, (values (timestamptz '2024-03-02', 'failed'), ('2024-03-05', 'empty')) w (time, verdict)`,
    );
    await query(`update tidemark.series set blocked_until = now() + interval '1 hour' where interval = 'm1'`);
  };
  const later = async () => {
    const rows = await query(
      `select interval || ' ' || verdict as line from tidemark.pending_windows p join tidemark.series s on s.id = p.series_id
       where retry_at > now() union all
       select interval || ' blocked' from tidemark.series where blocked_until > now() order by 1`,
    );
    return rows.map(({ line }) => line);
  };
  await defer();
  expect(await say('retry binance bitcoin/tether h1')).toBe('1 range can be requested now\n');
  expect(await later()).toEqual(['h1 empty', 'm1 blocked', 'm1 empty', 'm1 failed']);
  await defer();
  expect(await say('retry')).toBe('2 ranges and 1 refused series can be requested now\n');
  expect(await later()).toEqual(['h1 empty', 'm1 empty']);
});
