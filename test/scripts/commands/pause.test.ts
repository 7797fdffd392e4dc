import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { market, processesMs, start, tidemark } from '../command.ts';

async function world() {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_REQUESTS_PER_MINUTE: '6000',
    PLANNING_TICK_MS: '200',
    RATES_SECONDS: '0',
  };
  const say = async (...words: string[]) => {
    const ended = await tidemark(words, env);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    return ended.stdout;
  };
  const track = (interval: string, ...more: string[]) =>
    say(
      'track',
      'candles',
      ...market,
      '--interval',
      interval,
      '--from',
      '2024-03-01',
      '--to',
      '2024-04-01',
      ...more,
    );
  return { env, url, simulator, say, track };
}

it(
  'requests nothing while paused, and goes on when resumed',
  async () => {
    const { env, simulator, say, track } = await world();
    expect(await say('pause')).toContain('paused: ');
    expect(await say('pause')).toBe('paused before\n');
    await track('h1');
    start(['run', '--no-serve'], env);
    await waitFor('its headline', async () => /^requests are paused since 20/.test(await say('status')));
    for (const words of [
      ['backfill', 'candles', ...market, '--interval', 'h1', '--from', '2024-03-01'],
      ['markets', '--source', 'binance'],
      ['verify'],
    ]) {
      const refused = await tidemark(words, env);
      if (words[0] === 'verify')
        expect(refused).toMatchObject({ exitCode: 0, stdout: 'nothing is covered yet\n' });
      else expect([refused.exitCode, refused.stderr]).toEqual([6, expect.stringContaining('PAUSED')]);
    }
    expect(simulator.requests().total).toBe(0);
    expect(await say('resume')).toBe('resumed\n');
    expect(await say('resume')).toBe('not paused\n');
    await waitFor('the points', async () => /^up to date/.test(await say('status')));
    expect(await say('pause')).toContain('paused: ');
    expect(await tidemark(['verify'], env)).toMatchObject({
      exitCode: 6,
      stderr: expect.stringContaining('PAUSED'),
    });
  },
  processesMs,
);

it('makes failed windows and refused series due, and leaves those that await a second answer', async () => {
  const { url, say, track } = await world();
  await track('h1,m1');
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 1,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(() => database.close());
  expect(await say('retry')).toBe('nothing to retry: no range waits for its next attempt\n');
  const defer = async () => {
    await database.pool.query('delete from tidemark.pending_windows');
    await database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       select id, tstzrange(time, time + interval '1 day'), verdict, 'HTTP 500', now(), now() + interval '6 hours'
       from tidemark.series, (values (timestamptz '2024-03-02', 'failed'), ('2024-03-05', 'empty')) w (time, verdict)`,
    );
    await database.pool.query(
      `update tidemark.series set blocked_until = now() + interval '1 hour' where interval = 'm1'`,
    );
  };
  const later = async () => {
    const { rows } = await database.pool.query<{ verdict: string; name: string }>(
      `select verdict, interval as name from tidemark.pending_windows p join tidemark.series s on s.id = p.series_id
       where retry_at > now() union all
       select 'blocked', interval from tidemark.series where blocked_until > now() order by 1, 2`,
    );
    return rows.map(({ verdict, name }) => `${name} ${verdict}`);
  };
  await defer();
  expect(await say('retry', 'binance', 'bitcoin/tether', 'h1')).toBe('1 range can be requested now\n');
  expect(await later()).toEqual(['m1 blocked', 'h1 empty', 'm1 empty', 'm1 failed']);
  await defer();
  expect(await say('retry')).toBe('2 ranges and 1 refused series can be requested now\n');
  expect(await later()).toEqual(['h1 empty', 'm1 empty']);
});
