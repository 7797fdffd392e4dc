import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { acquireEmbeddedDatabase } from '../../../embedded/acquire.ts';
import { migrate } from '../../../schema/migrate.ts';
import { startSimulator } from '../../../simulator/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { rangesBehind } from '../../../store/upkeep/refresh-rollups.ts';
import { move } from '../../../transfer/move/move.ts';
import { describeMissing } from '../../parts/describe-needing.ts';
import { emptyDirectory, tidemark } from '../command.ts';
import { openStore } from './export-store.ts';
import { everyRow, fillEverything, nextIds } from './move-store.ts';

vi.setConfig({ testTimeout: 600_000 });

const why = inject('absent').timescale || inject('absent').plainPostgres;
const pairs = [
  ['main', 'plain'],
  ['plain', 'main'],
] as const;

(why === '' ? describe : (title: string, body: () => void) => describeMissing(title, why, body))(
  'tidemark move, from TimescaleDB (main) and PostgreSQL (plain) to either',
  () => {
    it.each(pairs)('%s to %s: every row of every table, and the next ids', async (from, to) => {
      const [source, target] = [await openStore(from), await openStore(to)];
      await fillEverything(source.database);
      const before = await everyRow(source.database);
      const moved = await tidemark(['move', '--to', target.url], source.env);
      expect(moved.stderr).toBe('');
      const lines = moved.stdout.split('\n');
      expect(lines[0]).toMatch(/^moved [\d,]+ rows of 43 tables; both sides are equal, digit by digit; .+$/);
      const { username, host, pathname, password } = new URL(target.url);
      expect(lines[1]).toContain(`next: set DATABASE_URL=postgres://${username}@${host}${pathname}`);
      if (password !== '') expect(moved.stdout).not.toContain(password);
      expect(moved.exitCode).toBe(0);

      const there = await everyRow(target.database);
      // A table without a row would show nothing.
      expect(Object.entries(there).filter(([, rows]) => rows.length === 0)).toEqual([]);
      expect(there).toEqual(before);
      expect(await everyRow(source.database)).toEqual(before);
      expect(await nextIds(target.database)).toEqual(await nextIds(source.database));
      expect(await rangesBehind(target.database)).toEqual(await rangesBehind(source.database));

      const derived = `select exchange, base, quote, interval, time, open::text, high::text, low::text, close::text, volume::text
                       from candles where interval in ('m5', 'h1', 'd1') order by 1, 2, 3, 4, 5`;
      const rows = async ({ database }: typeof source) => (await database.pool.query(derived)).rows;
      expect(await rows(target)).toEqual(await rows(source));
      expect(await rows(target)).not.toEqual([]);
      const gapsOf = async (env: Record<string, string>) => {
        const { gaps } = JSON.parse((await tidemark(['gaps', '--json'], env)).stdout);
        // The last one goes on into the present.
        return gaps.map(({ id, from, reason }: Record<string, unknown>) => ({ id, from, reason }));
      };
      expect(await gapsOf(target.env)).toEqual(await gapsOf(source.env));
    });

    it('says which table it copies and compares', async () => {
      const [source, target] = [await openStore('plain'), await openStore('main')];
      await fillEverything(source.database);
      const steps: string[] = [];
      const { tables } = await move({
        ...{ from: source.database, to: target.database, signal: AbortSignal.timeout(600_000) },
        ...{ onTotal: () => {}, onRows: () => {} },
        onTable: (step, { name, number, of }) => void steps.push(`${step} ${name}, ${number} of ${of}`),
      });
      const all = [...tables.keys()];
      const told = (step: string) => all.map((name, place) => `${step} ${name}, ${place + 1} of ${all.length}`);
      expect(steps).toEqual([...told('copying'), ...told('comparing')]);
    });

    it('what was moved goes on being filled, and a second move is refused', async () => {
      const simulator = await startSimulator({ perMinute: null });
      onTestFinished(() => simulator.close());
      const [source, target] = [await openStore('plain'), await openStore('main')];
      const run = async ({ env }: typeof source, words: string) => {
        const more = { SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '0' };
        expect(await tidemark(words.split(' '), { ...env, ...more })).toMatchObject({ exitCode: 0 });
      };
      const backfill =
        'backfill candles --exchange binance --base bitcoin --quote tether --interval m1,h1 --from 2024-01-01 --to';
      for (const store of [source, target]) await run(store, 'migrate');
      await run(source, `${backfill} 2024-01-03`);
      await run(source, `move --json --to ${target.url}`);
      const served = simulator.requests().total;
      await run(target, `${backfill} 2024-01-05`);
      // Two more days of minutes, and of hours in one request; what was moved is not asked for again.
      expect(simulator.requests().total - served).toBe(3);
      await run(target, 'verify --all');
      expect(await tidemark(['move', '--to', target.url], source.env)).toMatchObject({
        exitCode: 5,
        stderr: expect.stringMatching(
          /^tidemark: TARGET_NOT_EMPTY: the target is not empty: tidemark\.series, .*tidemark\.candle_points.*; name a new, empty database, .*\n$/,
        ),
      });
    });
  },
);

it('moves the data of the embedded database, with the password in the environment', async () => {
  const target = await openStore('main');
  const directory = join(emptyDirectory(), 'data');
  const embedded = await acquireEmbeddedDatabase({ clock: systemClock, directory });
  await migrate({ url: embedded.url, direction: 'up', ifBusy: 'wait' });
  const database = openDatabase({
    url: embedded.url,
    applicationName: 'tidemark test',
    maxConnections: 2,
    statementTimeoutMs: 30_000,
  });
  await fillEverything(database);
  const before = await everyRow(database);
  await database.close();
  await embedded.release();
  const to = new URL(target.url);
  const password = decodeURIComponent(to.password);
  to.password = '';
  const moved = await tidemark(['move', '--json', '--to', to.href], { TIDEMARK_DIR: directory, PGPASSWORD: password });
  expect(moved).toMatchObject({ exitCode: 0, stderr: '' });
  const { rows, tables } = JSON.parse(moved.stdout);
  const counts = Object.fromEntries(Object.entries(before).map(([name, held]) => [name, held.length]));
  expect(tables).toEqual(counts);
  expect(rows).toBe(Object.values(counts).reduce((sum, held) => sum + held, 0));
  expect(await everyRow(target.database)).toEqual(before);
});
