import { expect, it } from 'vitest';
import { waitFor } from '../../parts/wait-for.ts';
import { openWatched } from './watch-list-parts.ts';

const series = '--exchange binance --base bitcoin --quote tether --interval h1';

it('reports what is odd in the points of each series, as text and as JSON', async () => {
  const { say, fails, query } = await openWatched();
  expect(await say('quality')).toBe('no series has points yet\n');
  await say(`backfill candles ${series} --from 2024-03-01 --to 2024-03-05`);
  await say('backfill history --asset bitcoin --interval d1 --from 2024-03-01 --to 2024-04-01');
  const { series: found } = JSON.parse(await say('quality --json'));
  expect(found).toMatchObject([
    { seriesId: 1, points: 96, covered: 1, gaps: 0, revisions: 0, inconsistent: 0, spikes: 0, largestSpikeTime: null },
    { seriesId: 2, series: { assetId: 'bitcoin' }, zeroVolume: null },
  ]);

  await query(`
    update tidemark.candle_points set close = 2 * close, volume = 0 where time = '2024-03-02 05:00Z';
    update tidemark.series set revised = 3 where id = 1`);
  const [odd] = JSON.parse(await say('quality 1 --json')).series;
  expect(odd).toMatchObject({ inconsistent: 1, spikes: 1, revisions: 3, largestSpikeTime: '2024-03-02T05:00:00.000Z' });
  expect(odd.largestSpike).toBeGreaterThan(0.5);
  expect(odd.zeroVolume).toBeCloseTo(1 / 96, 5);

  const text = await say('quality binance bitcoin/tether h1');
  const [titles = '', values = '', ...more] = text.trimEnd().split('\n');
  expect(more).toEqual([]);
  expect(titles.split(/ {2,}/)).toEqual(
    expect.arrayContaining(['series', 'revised', 'inconsistent', 'spikes', 'same price', 'no volume']),
  );
  expect(values).toMatch(/^ 1 {2}binance bitcoin\/tether h1 {2}.* 1 {2}\d+\.\d\d % at 2024-03-02 05:00Z .*1\.04 %/);
  expect((await say('quality')).split('\n')).toHaveLength(4);
  await fails('quality 7', 2, 'no series has the id or the name "7"');
});

it('ends when it is stopped while it reads points', async () => {
  const { database, say, begin, query } = await openWatched();
  await say(`backfill candles ${series} --from 2024-03-01 --to 2024-03-05`);
  const client = await database.pool.connect();
  try {
    await client.query('begin; lock table tidemark.candle_points in access exclusive mode');
    const running = begin('quality');
    await waitFor('it to read', async () => {
      const waiting = await query(
        `select pid from pg_stat_activity where application_name = 'tidemark quality' and wait_event_type = 'Lock'`,
      );
      return waiting.length > 0;
    });
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({
      ...{ exitCode: 130, stdout: '' },
      stderr: expect.stringMatching(/^tidemark: INTERRUPTED: stopped after 0 of 1 series; name some of the series /),
    });
  } finally {
    await client.query('rollback');
    client.release();
  }
});
