/** A directory with a watch list, a database and a synthetic source, for commands to run in. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type RunningSimulator, startSimulator } from '../../../simulator/start.ts';
import { type Database, openDatabase } from '../../../store/db/database.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { type Ended, emptyDirectory, type Running, start, tidemark } from '../command.ts';

export interface Watched {
  readonly url: string;
  readonly database: Database;
  readonly simulator: RunningSimulator;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  write(text: string, file?: string): void;
  begin(words: string, env?: Readonly<Record<string, string>>): Running;
  run(words: string, env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** As `run`, with the document that it prints. @throws Error when it fails. */
  json<Document = Record<string, unknown>>(words: string): Promise<Document>;
  /** Every series with its range, whether it is tracked or not, and how much is stored and covered. */
  series(): Promise<string[]>;
}

export async function openWatched(on: 'main' | 'plain' = 'main'): Promise<Watched> {
  const { url, drop } = await createMigratedDatabase(on);
  onTestFinished(drop);
  return watchedAt(url);
}

/** @param url of a migrated database. */
export async function watchedAt(url: string): Promise<Watched> {
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 3,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(() => database.close());
  const directory = emptyDirectory();
  const env = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_REQUESTS_PER_MINUTE: '6000',
    PLANNING_TICK_MS: '100',
    RATES_SECONDS: '0',
    REREAD_DAYS: '0',
  };
  const begin: Watched['begin'] = (words, more = {}) =>
    start(words.split(' '), { ...env, ...more }, directory);
  const run: Watched['run'] = (words, more) => tidemark(words.split(' '), { ...env, ...more }, directory);
  return {
    url,
    database,
    simulator,
    directory,
    env,
    begin,
    run,
    write: (text, file = 'tidemark.yaml') => writeFileSync(join(directory, file), text),
    async json(words) {
      const ended = await run(`${words} --json`);
      if (ended.exitCode !== 0) throw new Error(ended.stderr);
      return JSON.parse(ended.stdout);
    },
    async series() {
      const result = await database.pool.query<{ line: string }>(
        `select concat_ws(' ', exchange_id, base_id, quote_id, asset_id, interval, tracked::text,
                          case when untracked_at is null then 'tracked' else 'untracked' end, points, covered::text) as line
         from tidemark.series order by dataset desc, exchange_id, base_id, asset_id, interval`,
      );
      return result.rows.map(({ line }) => line.replaceAll(':00+00', '').replaceAll('"', ''));
    },
  };
}
