import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { decimalText } from '../../../model/decimal.ts';
import { hourMs, periodStart } from '../../../model/intervals.ts';
import { startSimulator } from '../../../simulator/start.ts';
import { bitcoinHours as series } from '../../queue/queue-parts.ts';
import { openVenues } from './watch-list-parts.ts';

const startMs = Date.UTC(2024, 2, 1);

/** Two days of hours from one source, and another source of the same market. */
async function open() {
  const opened = await openVenues(['binance', 'bybit']);
  const { say, run } = opened;
  await say('backfill candles --source binance --symbol BTC/USDT --interval h1 --from 2024-03-01 --to 2024-03-03');
  const verify = (more: string) => run(`verify --against bybit --all${more}`);
  return { ...opened, ...opened.venues, verify };
}

it('finds every difference with both values, and overwrites none', async () => {
  const { run, verify, bybit, query } = await open();
  const same = await verify(' --json');
  expect(same).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(same.stdout)).toMatchObject({ compared: 1, points: 48, differing: 0, differences: [] });

  const changed = [3, 17, 40].map((hour) => startMs + hour * hourMs);
  for (const timeMs of changed) bybit.revise({ series, timeMs, fromMs: 0, values: { volume: decimalText('7.25') } });
  const points = 'select * from tidemark.candle_points order by time';
  const before = await query(points);
  const found = await verify(' --json');
  expect(found.exitCode).toBe(7);
  expect(JSON.parse(found.stdout).differences).toMatchObject(
    changed.map((timeMs) => ({ time: new Date(timeMs).toISOString(), there: { volume: '7.25' } })),
  );
  expect(found.stderr).toMatch(/differ from bybit; nothing was changed; .*source_differences/);
  expect((await verify('')).stdout).toMatch(
    /volume here \S+, at bybit 7\.25[\s\S]*, to the tick of the coarser source: 1 window differs/,
  );
  expect(await query(points)).toEqual(before);
  const kept = await query(
    `select source, kind, here->>'volume' <> '7.25' as own, there->>'volume' as volume
     from tidemark.cross_differences order by time`,
  );
  expect(kept).toEqual(changed.map(() => ({ source: 'bybit', kind: 'changed', own: true, volume: '7.25' })));
  // Nothing that `repair` would request again, and nothing of the series' own source.
  expect(await query('select from tidemark.differences')).toHaveLength(0);
  expect(await run('verify --all')).toMatchObject({ exitCode: 0 });
  expect(await query('select from tidemark.cross_differences')).toHaveLength(3);
});

it('compares a range with another source, and tells what it costs there', async () => {
  const { run, verify, bybit, query } = await open();
  for (const hour of [3, 17])
    bybit.revise({ series, timeMs: startMs + hour * hourMs, fromMs: 0, values: { volume: decimalText('7.25') } });
  const found = JSON.parse((await verify(' --json --from 2024-03-01T03:30 --to 2024-03-01T04:00')).stdout);
  expect(found).toMatchObject({ windows: 1, points: 1, differing: 1, cost: [{ source: 'bybit', requests: 1 }] });
  expect(await query('select from tidemark.cross_differences')).toHaveLength(1);
  expect((await verify(' --from 2024-03-02')).stdout).toMatch(
    /^1 request to bybit, [\d.]+ % of a minute's budget, about 1 s\n/,
  );
  expect(await run('verify --all --from 2024-03-02')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^1 request to binance, /),
  });
});

it('compares to the tick of the coarser source', async () => {
  const { verify, bybit } = await open();
  const [row] = bybit.truth.candles(series, { startMs, endMs: startMs + hourMs });
  if (row === undefined) throw new Error('no candle to change');
  // An expanded double: the same price to every digit of the other source.
  const close = decimalText(`${row.close}000000291038`);
  bybit.revise({ series, timeMs: startMs, fromMs: 0, values: { close } });
  const verified = await verify(' --json');
  expect(verified).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(verified.stdout)).toMatchObject({ differing: 0, rewritten: 1 });
});

it('names what the other source lacks', async () => {
  const { say, fails, query } = await open();
  await fails('verify --against coinbase-x', 2, 'no source is named "coinbase-x"');
  await fails('verify --against binance', 2, 'binance is the own source of these series');
  await say(
    'track candles --exchange binance --base no-such --quote tether --interval h1 --from 2024-03-01 --to 2024-03-03',
    { SOURCE_URL: 'http://127.0.0.1:9/v2' },
  );
  await query(`update tidemark.series set covered = '{[2024-03-01,2024-03-02)}' where base_id = 'no-such'`);
  const lacks = 'bybit does not have 1 series, such as binance no-such/tether h1';
  await fails('verify --against bybit --all', 0, lacks);
});

it('gets the error of a series that the other source does not know, which goes on at its own', async () => {
  const { fails, query } = await open();
  const other = await startSimulator({ perMinute: null });
  onTestFinished(() => other.close());
  await fails('verify --against default --all', 3, 'WINDOWS_UNANSWERED', { SOURCE_URL: other.url });
  const verdicts = `select distinct verdict from tidemark.fetches where source = 'default'`;
  expect(await query(verdicts)).toEqual([{ verdict: 'unknown_id' }]);
  const blocked = 'select blocked_until from tidemark.series where blocked_until is not null';
  expect(await query(blocked)).toEqual([]);
});

it('verifies the other series where one has no source that can be asked', async () => {
  const { say, fails, run, query, directory } = await open();
  const rows = ['2024-03-01T00:00:00Z,1,2,1,2,3', '2024-03-01T01:00:00Z,1,2,1,2,3'];
  writeFileSync(join(directory, 'own.csv'), ['time,open,high,low,close,volume', ...rows, ''].join('\n'));
  const names = ['time', 'open', 'high', 'low', 'close', 'volume'].map((name) => `${name}=${name}`).join();
  await run(`import own.csv --columns ${names} --exchange own --base a --quote b --interval h1`);
  const unset = 'SOURCE_URL is not set';
  const said = await fails(
    'verify --sample 2',
    3,
    `WINDOWS_UNANSWERED: 1 window could not be compared, the first: ${unset}`,
  );
  expect(said).toMatch(/compared 1 of 1 covered window, 48 points, .*: nothing differs/);
  expect(said).toContain(`own a/b h1 (2): 1 window could not be compared: ${unset}`);
  await fails('verify own a/b h1', 2, `BAD_CONFIGURATION: ${unset}`);
  await say('verify binance BTC/USDT h1');
  await query(
    `insert into tidemark.differences (series_id, time, kind, seen_at)
     select id, '2024-03-01', 'changed', now() from tidemark.series`,
  );
  expect(await fails('repair', 3, unset)).toContain(`own a/b h1 (2): 1 window could not be repaired: ${unset}`);
});

it('verifies the others where a source is away already, which costs one try', async () => {
  const { say, fails, query, bybit } = await open();
  await say('backfill candles --source bybit --symbol BTC/USDT --interval m1 --from 2024-03-01 --to 2024-03-03');
  await bybit.close();
  await query(
    `update tidemark.fetches set time = now() - interval '2 minutes', verdict = 'unreachable', error = 'none'
     where source = 'bybit'`,
  );
  const away = /WINDOWS_UNANSWERED: \d windows could not .*, the first: bybit is unreachable since .*ECONNREFUSED/;
  expect(await fails('verify --all', 3, away)).toContain('compared 1 of 4 covered windows, 48 points');
  const tries = `select max(attempt) from tidemark.fetches where source = 'bybit' and lane = 'verify'`;
  expect(await query(tries)).toEqual([{ max: 1 }]);
});

it('says that an archive has no file yet of what is covered', async () => {
  const { say, fails } = await openVenues(['binance', 'binance-archive']);
  const endMs = periodStart(Date.now(), 'h1') - hourMs;
  const [from, to] = [endMs - hourMs, endMs].map((timeMs) => new Date(timeMs).toISOString());
  const range = `--from ${from} --to ${to}`;
  await say(`backfill candles --source binance --symbol BTC/USDT --interval h1 ${range}`);
  for (const words of ['', ` ${range}`])
    await fails(
      `verify --against binance-archive --all${words}`,
      2,
      /binance-archive has no file of that time yet: its files end at 20\d\d-\d\d-01/,
    );
});
