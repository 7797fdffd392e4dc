import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { fileFormats } from '../../../files/layout.ts';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { emptyDirectory, market, tidemark } from '../command.ts';
import { contentOf, fill, fillAll, minutes, openStore, startMs } from './export-store.ts';

/** A server of the other kind, if there is one. */
const other = inject('absent').plainPostgres === '' ? 'plain' : 'main';

const name = 'binance bitcoin tether m1';
const m1 = ['export', 'candles', ...market, '--interval', 'm1'];
const silent = ['--from', '2023-12-31T22:00Z', '--to', '2023-12-31T23:00Z'];
const twoDays = ['--from', '2023-12-31T23:00Z', '--to', '2024-01-03'];

it.each(fileFormats)(
  '%s copies points, coverage and confirmed emptiness to another store, digit by digit',
  async (format) => {
    const from = await openStore('main');
    const to = await openStore(format === 'csv' ? other : 'main');
    await fillAll(from.database);
    const directory = emptyDirectory();
    const path = (name: string) => join(directory, `${name}.${format}`);
    const exports = [
      [['candles', ...market, '--interval', 'm1', ...twoDays], path('minutes')],
      [['candles', ...market, '--interval', 'h1'], path('hours')],
      [['history', '--asset', 'bit,"coin"', '--interval', 'd1'], path('days')],
      // Nothing but a range that is confirmed to be empty.
      [['candles', ...market, '--interval', 'm1', ...silent], path('silence')],
      [['rates'], path('rates')],
    ] as const;
    for (const [words, out] of exports) {
      const ended = await tidemark(['export', ...words, '--out', out], from.env);
      expect(ended.stderr).toBe('');
      expect(ended.stdout).toMatch(
        /^exported [\d,]+ points of \d series (?:up to [^/]+ )?to .+, coverage to .+; .+\n$/,
      );
      expect(ended.exitCode).toBe(0);
    }
    const files = exports.map(([, out]) => out);
    const imported = await tidemark(['import', ...files], to.env);
    expect(imported).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await contentOf(to.database)).toEqual(await contentOf(from.database));

    const again = await tidemark(['import', '--json', ...files], to.env);
    expect(JSON.parse(again.stdout)).toMatchObject({
      ...{ fresh: 0, revised: 0, rewritten: 0, differing: 0, refused: 0 },
    });
    expect(await contentOf(to.database)).toEqual(await contentOf(from.database));
    expect(readdirSync(directory).filter((name) => name.endsWith('.part'))).toEqual([]);
  },
);

it('rejects a range with gaps, also of rejected rows only, and names them; with --allow-gaps they stay gaps', async () => {
  const [from, to] = [await openStore('main'), await openStore('main')];
  const skip = (timeMs: number) => timeMs === startMs + 30 * minuteMs;
  for (const hour of [0, 2]) {
    const window = { startMs: startMs + hour * hourMs, endMs: startMs + (hour + 1) * hourMs };
    await fill(from.database, { series: minutes, window, skip });
  }
  await from.database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     values (1, '[2024-01-01T01:30Z,2024-01-01T02:00Z)', 'failed', 'status 500', now(), now());
     insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw, time)
     values (now(), 'candles', 1, 'low above high', '{}', '2024-01-01T00:30Z'), (now(), 'candles', 1, 'of one', '{}', '2024-01-01T00:31Z')`,
  );
  const directory = emptyDirectory();
  const out = join(directory, 'x.csv');
  const words = [...m1, '--to', '2024-01-01T04:00Z', '--out', out];
  const refused = await tidemark(words, from.env);
  expect(refused.stderr).toBe(
    'tidemark: RANGE_HAS_GAPS: nothing was exported: ' +
      'binance bitcoin/tether m1 lacks 2024-01-01 00:30Z to 2024-01-01 00:31Z (only rejected rows came); ' +
      'binance bitcoin/tether m1 lacks 2024-01-01 01:00Z to 2024-01-01 01:30Z (not stored yet); ' +
      'binance bitcoin/tether m1 lacks 2024-01-01 01:30Z to 2024-01-01 02:00Z (failed: status 500); ' +
      'binance bitcoin/tether m1 lacks 2024-01-01 03:00Z to 2024-01-01 04:00Z (not tracked); ' +
      '`tidemark gaps` says why: `tidemark backfill` fills what a source still has, with --wait also what ' +
      'came back empty once; --allow-gaps exports the stored points and lists the gaps\n',
  );
  expect(refused).toMatchObject({ exitCode: 3, stdout: '' });
  expect(readdirSync(directory)).toEqual([]);

  const allowed = await tidemark([...words, '--allow-gaps', '--json'], from.env);
  expect(JSON.parse(allowed.stdout)).toMatchObject({ points: 119, gaps: 4 });
  const sidecar = JSON.parse(readFileSync(`${out}.meta.json`, 'utf8'));
  expect(sidecar.series[0].coverage).toEqual([
    { from: '2024-01-01T00:00:00Z', to: '2024-01-01T00:30:00Z' },
    { from: '2024-01-01T00:31:00Z', to: '2024-01-01T01:00:00Z' },
    { from: '2024-01-01T02:00:00Z', to: '2024-01-01T03:00:00Z' },
  ]);
  expect(sidecar.series[0].gaps).toHaveLength(4);
  expect(await tidemark(['import', out], to.env)).toMatchObject({ exitCode: 0 });
  // They are requested again.
  expect(JSON.parse((await tidemark(['gaps', '--json'], to.env)).stdout).gaps).toMatchObject([
    { start: '2024-01-01T00:30:00.000Z', end: '2024-01-01T00:31:00.000Z' },
    { start: '2024-01-01T01:00:00.000Z', end: '2024-01-01T02:00:00.000Z' },
    { start: '2024-01-01T03:00:00.000Z', end: '2024-01-01T04:00:00.000Z' },
  ]);
});

it('omits points that are not final: an open candle, and points outside of coverage', async () => {
  const from = await openStore('main');
  const nowMs = Math.floor(Date.now() / minuteMs) * minuteMs;
  const window = { startMs: nowMs - hourMs, endMs: nowMs + minuteMs };
  // Half of the newest minute has passed.
  await fill(from.database, { series: minutes, window, nowMs: nowMs + minuteMs / 2 });
  const stored = await from.database.pool.query('select max(time) as newest from candles');
  expect(stored.rows).toEqual([{ newest: nowMs }]);
  const { stdout } = await tidemark([...m1, '--allow-gaps'], from.env);
  const lines = stdout.trimEnd().split('\n').slice(1);
  const times = lines.map((line) => Date.parse(line.split(',')[4] ?? ''));
  const [covered] = (await contentOf(from.database)).series[name]?.covered ?? [];
  expect(covered?.endMs).toBeLessThanOrEqual(nowMs);
  expect([times[0], times.at(-1)]).toEqual([nowMs - hourMs, (covered?.endMs ?? 0) - minuteMs]);
});

it('says that its series end at different times', async () => {
  const from = await openStore('main');
  const window = { startMs, endMs: startMs + 3 * hourMs };
  await fill(from.database, { series: minutes, window: { ...window, endMs: window.endMs - 30 * minuteMs } });
  await fill(from.database, { series: { ...minutes, interval: 'h1' }, window });
  const words = (intervals: string) => ['export', 'candles', ...market, '--interval', intervals, '--out'];
  const said = async (intervals: string) => (await tidemark([...words(intervals), path], from.env)).stdout;
  const path = join(emptyDirectory(), 'both.csv');
  expect(await said('m1,h1')).toMatch(
    /^exported 153 points of 2 series, which end between 2024-01-01 02:30Z and 2024-01-01 03:00Z, to .+both.csv,/,
  );
  expect(await said('h1')).toMatch(/^exported 3 points of 1 series up to 2024-01-01 03:00Z to .+both.csv,/);
});

it('ends an open-ended series where its coverage ends, and says where', async () => {
  const from = await openStore('main');
  const endMs = Math.floor(Date.now() / hourMs) * hourMs - 2 * hourMs;
  await fill(from.database, { series: minutes, window: { startMs: endMs - hourMs, endMs } });
  // It was tracked up to there, and all of that is covered.
  await trackSeries(from.database, minutes, endMs - hourMs, null);
  const ended = await tidemark([...m1, '--out', join(emptyDirectory(), 'live.csv'), '--json'], from.env);
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  const until = new Date(endMs).toISOString();
  expect(JSON.parse(ended.stdout)).toMatchObject({ points: 60, gaps: 0, until });
  // What is asked for by name is not shortened.
  const refused = { exitCode: 3, stdout: '' };
  expect(await tidemark([...m1, '--to', new Date().toISOString()], from.env)).toMatchObject(refused);
  // A gap within what is covered stays one.
  await trackSeries(from.database, minutes, endMs - 2 * hourMs, null);
  expect(await tidemark(m1, from.env)).toMatchObject(refused);
});
