import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { askDuckdb, describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { emptyDirectory, start, tidemark } from '../command.ts';
import { fillMany, openStore } from './export-store.ts';

function filesOf(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Identifies the version of each file. One that has gone meanwhile has none. */
function versions(directory: string): Map<string, string> {
  const found = filesOf(directory).map((path) => [path, statSync(path, { throwIfNoEntry: false })] as const);
  return new Map(found.map(([path, is]) => [path, `${is?.ino} ${is?.mtimeMs}`]));
}

describeNeedingDuckdb('tidemark lake', () => {
  it('leaves complete files when it is killed, and the next run finishes the work', async () => {
    const points = 182 * 1440;
    const store = await openStore('main');
    await fillMany(store.database, points);
    const directory = join(emptyDirectory(), 'lake');
    const parquet = () => filesOf(directory).filter((path) => path.endsWith('.parquet'));
    const inStore = async () => {
      const result = await store.database.pool.query(
        `select count(*)::text as rows, sum(close::numeric(38, 19))::text as sum from tidemark.candle_points`,
      );
      return result.rows[0];
    };
    const inLake = async () => {
      const sums = 'count(*)::varchar as rows, sum(close::numeric(38, 19))::varchar as sum';
      const [row] = await askDuckdb(`select ${sums} from read_parquet('${directory}/**/*.parquet')`);
      return row;
    };
    /** Kills a run after a few files: what is there is complete at any time. */
    async function killEarly(): Promise<void> {
      const before = versions(directory);
      const running = start(['lake', directory], store.env);
      let hasEnded = false;
      void running.ended.then(() => {
        hasEnded = true;
      });
      await waitFor('two more files', () => {
        if (hasEnded) throw new Error(`it ended: ${running.stderr()}`);
        const changed = [...versions(directory)].filter(([path, is]) => before.get(path) !== is);
        return changed.filter(([path]) => path.endsWith('.parquet')).length >= 2;
      });
      running.kill('SIGKILL');
      await running.ended;
      const days = await askDuckdb(
        `select filename, count(*)::integer as rows, max(extract(day from time))::integer as days
         from read_parquet('${directory}/**/*.parquet', filename = true) group by filename`,
      );
      for (const { filename, rows, days: length } of days)
        expect([filename, rows]).toEqual([filename, Number(length) * 1440]);
      const manifest = join(directory, 'manifest.json');
      if (existsSync(manifest)) expect(JSON.parse(readFileSync(manifest, 'utf8'))).toMatchObject({ version: 1 });
    }

    await killEarly();
    const first = await tidemark(['lake', directory, '--json'], store.env);
    expect(first).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(first.stdout)).toMatchObject({ directory, files: 6, allRows: points, refused: [] });
    expect(await inLake()).toEqual(await inStore());
    expect(filesOf(directory)).toEqual([...parquet(), join(directory, 'manifest.json')]);

    await store.database.pool.query('update tidemark.candle_points set close = close + 1, high = high + 1');
    await store.database.pool.query(
      `insert into tidemark.changed_months select id, month, now() from tidemark.series,
         generate_series('2024-01-01'::timestamp, '2024-06-01', '1 month') month
       on conflict (series_id, month) do update set changed_at = excluded.changed_at`,
    );
    await killEarly();
    expect(await tidemark(['lake', directory], store.env)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^wrote \d+ files with [\d,]+ rows, .+; .+ has 6 files with 262,080 rows; .+\n$/),
    });
    expect(await inLake()).toEqual(await inStore());
    expect(filesOf(directory)).toEqual([...parquet(), join(directory, 'manifest.json')]);
  });
});
