import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import { rowsOfPiece } from '../../../transfer/import-series.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { emptyDirectory, market, start, tidemark } from '../command.ts';
import { closeAt, contentOf, fill, holdAfter, minutes, openStore, sharedStore, startMs } from './export-store.ts';

const name = 'binance bitcoin tether m1';
const window = { startMs, endMs: startMs + 3 * hourMs };
const minute = (index: number) => startMs + index * minuteMs;
const m1 = ['export', 'candles', ...market, '--interval', 'm1'];

const theStore = sharedStore();

async function filledStore(filled = window) {
  const store = await openStore('main');
  await fill(store.database, { series: minutes, window: filled });
  return store;
}

let files: { readonly csv: string; readonly sidecar: string } | undefined;

async function exportedFiles() {
  const { env } = await filledStore();
  const path = join(emptyDirectory(), 'x.csv');
  expect(await tidemark([...m1, '--out', path], env)).toMatchObject({ exitCode: 0, stderr: '' });
  return { csv: readFileSync(path, 'utf8'), sidecar: readFileSync(`${path}.meta.json`, 'utf8') };
}

/** The file in a directory, and a store that has none of it. */
async function exported() {
  files ??= await exportedFiles();
  const to = theStore();
  const path = join(emptyDirectory(), 'x.csv');
  writeFileSync(path, files.csv);
  writeFileSync(`${path}.meta.json`, files.sidecar);
  const content = async () => (await contentOf(to.database)).series[name];
  const query = async (sql: string) => (await to.database.pool.query(sql)).rows;
  const run = (...words: string[]) => tidemark(['import', path, ...words], to.env);
  return { to, path, content, query, run };
}

/**
 * Changes lines of a CSV, and makes the sidecar say that this is its file: what only the rows themselves can betray.
 */
function forge(path: string, change: (lines: string[]) => string[], stated?: number): void {
  const text = change(readFileSync(path, 'utf8').split('\n')).join('\n');
  writeFileSync(path, text);
  const sidecar = JSON.parse(readFileSync(`${path}.meta.json`, 'utf8'));
  sidecar.file.sha256 = createHash('sha256').update(text).digest('hex');
  sidecar.file.bytes = Buffer.byteLength(text);
  sidecar.file.rows = text.trimEnd().split('\n').length - 1;
  sidecar.series[0].points = stated ?? sidecar.file.rows;
  writeFileSync(`${path}.meta.json`, JSON.stringify(sidecar));
}

it('refuses a file that is not the one its sidecar describes, and stores nothing of it', async () => {
  const { path, run, content } = await exported();
  const text = readFileSync(path, 'utf8');
  for (const changed of [text.slice(0, -200), text.replace('180.10', '180.20'), text.replace('180.', '1800.')]) {
    writeFileSync(path, changed === text ? `${text} ` : changed);
    const ended = await run();
    expect(ended.stderr).toMatch(/^tidemark: FILE_NOT_USABLE: .+ is not the file that its sidecar describes: .+\n$/);
    expect(ended).toMatchObject({ exitCode: 8, stdout: '' });
  }
  expect(await content()).toBeUndefined();
});

const row = (index: number, values: string) =>
  `binance,bitcoin,tether,m1,${new Date(minute(index)).toISOString().replace('.000', '')},${values}`;
const reasonsIn = (stdout: string) => JSON.parse(stdout).refusals.map(({ reason }: { reason: string }) => reason);

it('claims no coverage of a series with a wrong time or a missing row', async () => {
  const { path, run, content } = await exported();
  const original = readFileSync(path, 'utf8');
  forge(path, (lines) => {
    lines[1 + 30] = row(29, '7,7,7,7,7');
    lines.splice(1 + 40, 0, row(300, '1,1,1,1,1'));
    return lines;
  });
  const twice = await run('--json');
  expect(twice.exitCode).toBe(3);
  expect(reasonsIn(twice.stdout)).toEqual([
    'line 32: time: not after the row before it',
    'line 42: the sidecar states no coverage there',
  ]);
  expect(await content()).toMatchObject({ pointCount: 179, covered: [] });

  writeFileSync(path, original);
  forge(path, (lines) => lines.filter((_, index) => index !== 1 + 7), 180);
  const missing = await run();
  expect(missing.stderr).toMatch(
    /^tidemark: FILE_NOT_USABLE: .+ has 179 rows of binance bitcoin\/tether m1, and its sidecar states 180; .+--points-only.+\n$/,
  );
  expect(missing).toMatchObject({ exitCode: 8, stdout: '' });
  expect(await content()).toMatchObject({ pointCount: 180, covered: [] });
});

it('keeps and reports stored values that differ; --overwrite keeps the old value as a revision', async () => {
  const { to, run, query } = await exported();
  await fill(to.database, {
    series: minutes,
    window: { startMs: minute(60), endMs: minute(120) },
    skip: (timeMs) => timeMs === minute(80),
    valueAt: (timeMs) =>
      timeMs === minute(70) ? '999.9' : timeMs === minute(60) ? `${closeAt(timeMs)}00` : closeAt(timeMs),
  });
  const kept = await run('--json');
  expect(kept.exitCode).toBe(7);
  expect(kept.stderr).toMatch(/^tidemark: IMPORT_DIFFERS: 1 stored point differs from the file; .+--overwrite/);
  expect(JSON.parse(kept.stdout)).toMatchObject({
    fresh: 121,
    unchanged: 58,
    rewritten: 1,
    revised: 0,
    differing: 1,
    differences: [
      { time: new Date(minute(70)).toISOString(), stored: { close: '999.9' }, inFile: { close: closeAt(minute(70)) } },
    ],
  });
  const close = async (index: number) => {
    const time = new Date(minute(index)).toISOString();
    return (await query(`select close::text from candles where interval = 'm1' and time = '${time}'`))[0]?.close;
  };
  expect([await close(70), await close(60)]).toEqual(['999.9', `${closeAt(minute(60))}00`]);

  const overwritten = await run('--overwrite');
  expect(overwritten.stdout).toContain('1 overwritten, the old values kept as revisions');
  expect(overwritten).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await close(70)).toBe(closeAt(minute(70)));
  expect(await query(`select time, before->>'close' as close from tidemark.point_revisions`)).toEqual([
    { time: minute(70), close: '999.9' },
  ]);
  expect(await query('select revised from tidemark.series')).toEqual([{ revised: 1 }]);
});

it('never deletes a stored point that the file does not have, and reports it', async () => {
  const { to, path, run, content } = await exported();
  await fill(to.database, { series: minutes, window });
  forge(path, (lines) => lines.filter((_, index) => index !== 1 + 5));
  const ended = await run('--overwrite');
  expect(ended.stdout).toContain('missing in the file');
  expect(ended.stderr).toMatch(
    /IMPORT_DIFFERS: 1 stored point differs from the file, 1 of them missing in the file; a stored point/,
  );
  expect(ended.exitCode).toBe(7);
  expect(await content()).toMatchObject({ pointCount: 180 });
});

it('overturns confirmed emptiness where the file has points, and claims none where a point is stored', async () => {
  const { to, run, content, query } = await exported();
  await fill(to.database, { series: minutes, window: { startMs, endMs: minute(1) } });
  await query(`
    update tidemark.series set covered = '{[2023-12-31T00:00Z,2024-01-01T02:00Z)}', begins = '2024-01-02',
      confirmed_empty = '{[2023-12-31T00:00Z,2024-01-01T00:00Z),[2024-01-01T00:01Z,2024-01-01T02:00Z)}',
      before_beginning = '{[2023-12-31T00:00Z,2024-01-01T00:00Z),[2024-01-01T00:01Z,2024-01-01T01:00Z)}'`);
  expect(await run()).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await content()).toMatchObject({
    pointCount: 180,
    confirmedEmpty: [{ startMs: startMs - 24 * hourMs, endMs: startMs }],
    before: '{["2023-12-31 00:00:00+00","2024-01-01 00:00:00+00")}',
  });
});

it('leaves whole pieces when killed at any instant, and the same file again goes on', async () => {
  const { to, path, run, content, query } = await exported();
  const endMs = minute(4 * rowsOfPiece + 2080);
  const from = await filledStore({ startMs, endMs });
  await tidemark([...m1, '--out', path], from.env);
  const tracking = () => query('select tracked::text, untracked_at is null as "isTracked" from tidemark.series');
  const endText = new Date(endMs).toISOString().slice(0, 19).replace('T', ' ');
  const tracked = `["2024-01-01 00:00:00+00","${endText}+00")`;
  for (const pieces of [1, 2, 3]) {
    const letGo = await holdAfter(to.database, pieces);
    const running = start(['import', path], to.env);
    await waitFor(`${pieces} pieces`, async () => {
      const [stored] = await query('select count(*)::int as points from tidemark.candle_points');
      return stored?.points >= pieces * rowsOfPiece;
    });
    // The first is killed, the second stops at Ctrl-C, the third loses its connection.
    if (pieces < 3) running.kill(pieces === 1 ? 'SIGKILL' : 'SIGINT');
    else
      await waitFor('its end', async () => {
        const cut = `select pg_terminate_backend(pid) from pg_stat_activity
                     where datname = current_database() and wait_event = 'PgSleep'`;
        return (await query(cut)).length > 0;
      });
    await letGo();
    const ended = await running.ended;
    if (pieces > 1) {
      expect(ended.exitCode).toBe(pieces === 2 ? 130 : 5);
      expect(ended.stderr).toMatch(
        /(INTERRUPTED: stopped|DATABASE_UNREACHABLE: .+,) within \S+; (?:80|120),000 rows of this call are stored; .*run the same command again: it completes them\n$/,
      );
    }
    const known = await content();
    const end = known?.uncoveredPoints[0]?.endMs ?? 0;
    expect(known).toMatchObject({ covered: [], uncoveredPoints: [{ startMs, endMs: end }] });
    expect(known?.pointCount).toBe((end - startMs) / minuteMs);
    expect(known?.points).toHaveLength(known?.pointCount ?? -1);
    // What came of it must not pass for all of it, nor may a scheduler ask for the rest.
    expect(await tracking()).toEqual([{ tracked, isTracked: false }]);
  }
  expect(await run()).toMatchObject({ exitCode: 0 });
  expect(await tracking()).toEqual([{ tracked, isTracked: true }]);
  expect(await query('select source from source_coverage')).toEqual([{ source: 'file' }]);
  expect(await contentOf(to.database)).toEqual(await contentOf(from.database));
});

it('names an unusable file before anything is stored', async () => {
  const { to, path, content } = await exported();
  const directory = emptyDirectory();
  const [other, pipe, absent] = ['other.csv', 'pipe.csv', 'absent.csv'].map((file) => join(directory, file));
  writeFileSync(other ?? '', 'a,b\n1,2\n');
  execFileSync('mkfifo', [pipe ?? '']);
  for (const [words, line] of [
    [[path, absent], 'absent.csv: there is no such file; .+'],
    [[pipe], 'pipe.csv: not a regular file; .+'],
  ] as [string[], string][]) {
    const ended = await tidemark(['import', ...words], to.env);
    expect(ended.stderr).toMatch(new RegExp(`^tidemark: FILE_NOT_USABLE: .+${line}\n$`));
    expect(ended).toMatchObject({ exitCode: 8, stdout: '' });
  }
  writeFileSync(`${other}.meta.json`, '[]');
  expect((await tidemark(['import', path, other ?? ''], to.env)).stderr).toMatch(
    /^tidemark: FILE_NOT_USABLE: .+other.csv.meta.json: not a sidecar of an export: not a JSON object; .+\n$/,
  );
  expect(await content()).toBeUndefined();
});

it('--follow tracks open-ended what was tracked open-ended', async () => {
  const { path, run, query } = await exported();
  const from = await filledStore();
  await from.database.pool.query(`update tidemark.series set tracked = tstzrange(lower(tracked), null)`);
  await tidemark([...m1, '--to', '2024-01-01T03:00Z', '--out', path], from.env);
  await run();
  const tracked = () => query('select upper(tracked) as until from tidemark.series');
  expect(await tracked()).toEqual([{ until: window.endMs }]);
  await run('--follow');
  expect(await tracked()).toEqual([{ until: null }]);
});

it.each([
  [
    'of whose rows none can be read',
    (rows: string[]) => rows.map((row) => row.replace(/(\d\d)T(.{8})Z/, '$1 $2')),
    /: none of its first 180 rows can be read, first: line 2: time: "\S+ \S+" is no time such as 2024-01-31T06:00:00Z;/,
  ],
  ['in descending order', (rows: string[]) => rows.reverse(), /: its rows are in descending order of time;/],
])('refuses a file %s before anything is stored', async (_, change, message) => {
  const { path, query, run } = await exported();
  const [header = '', ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n');
  writeFileSync(path, `${[header, ...change(rows)].join('\n')}\n`);
  for (const words of [['--points-only'], ['--points-only', '--dry-run']]) {
    const ended = await run(...words);
    expect(ended).toMatchObject({ exitCode: 8, stdout: '', stderr: expect.stringMatching(message) });
    expect(ended.stderr).toContain('; nothing was imported; ');
  }
  expect(await query('select 1 from tidemark.quarantine union all select 1 from tidemark.candle_points')).toEqual([]);
});

it('imports a file whose times another program wrote', async () => {
  const { path, content, run } = await exported();
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace(/(\d\d)T(.{8})Z/g, '$1 $2+00'));
  expect(await run('--points-only')).toMatchObject({ exitCode: 0, stderr: '' });
  expect((await content())?.points).toHaveLength(180);
});
