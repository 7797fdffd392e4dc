/** A directory with a watch list, a database and synthetic sources, for commands to run in. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { type RunningSimulator, startSimulator } from '../../../simulator/start.ts';
import {
  type RunningVenueSimulator,
  startVenueSimulator,
  type VenueSimulatorOptions,
} from '../../../simulator/venues/start.ts';
import type { VenueName } from '../../../simulator/venues/venue.ts';
import { type Database, openDatabase } from '../../../store/db/database.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { type Ended, emptyDirectory, type Running, start, tidemark } from '../command.ts';
import { beginInProcess, type RunningInProcess } from '../in-process.ts';

type Env = Readonly<Record<string, string>>;

export interface Directory {
  readonly url: string;
  readonly database: Database;
  readonly directory: string;
  readonly env: Env;
  write(text: string, file?: string): void;
  begin(words: string, env?: Env): Running;
  beginHere(words: string, env?: Env): RunningInProcess;
  run(words: string, env?: Env): Promise<Ended>;
  /** As `run`, of a command that must end with exit 0 and without a message. @returns what it printed. */
  say(words: string, env?: Env): Promise<string>;
  /**
   * As `run`, of a command that must end with this exit code and say this on standard error.
   *
   * @returns what it printed.
   */
  fails(words: string, exitCode: number, said: string | RegExp, env?: Env): Promise<string>;
  json<Document = Record<string, unknown>>(words: string): Promise<Document>;
  query(sql: string, values?: unknown[]): Promise<pg.QueryResultRow[]>;
  /** Every series with its range, whether it is tracked or not, and how much is stored and covered. */
  series(): Promise<string[]>;
}

export interface Watched extends Directory {
  readonly simulator: RunningSimulator;
}

export async function openWatched(): Promise<Watched> {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  return watchedAt(url);
}

export async function watchedAt(url: string): Promise<Watched> {
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const source = { SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '6000' };
  return { ...openDirectory(url, source), simulator };
}

export interface Venues<Name extends VenueName> extends Directory {
  readonly venues: Readonly<Record<Name, RunningVenueSimulator>>;
  /** Writes a watch list with these sources, each with more settings, and with more lines. */
  list(settings?: Readonly<Partial<Record<Name, string>>>, more?: string): void;
}

/** Sources of the watch list in place of the default one. */
export async function openVenues<Name extends VenueName>(
  names: readonly Name[],
  options: Omit<VenueSimulatorOptions, 'profile'> = {},
): Promise<Venues<Name>> {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const venues = {} as Record<Name, RunningVenueSimulator>;
  for (const profile of names) {
    const venue = await startVenueSimulator({ ...options, profile });
    onTestFinished(() => venue.close());
    venues[profile] = venue;
  }
  const opened = openDirectory(url, {});
  const list: Venues<Name>['list'] = (settings, more = '') => {
    const lines = names.map((name) => `  ${name}: { url: '${venues[name].url}'${settings?.[name] ?? ''} }\n`);
    opened.write(`sources:\n${lines.join('')}${more}`);
  };
  list();
  return { ...opened, venues, list };
}

function openDirectory(url: string, source: Env): Directory {
  const database = openDatabase({ url, applicationName: 'test', maxConnections: 3, statementTimeoutMs: 30_000 });
  onTestFinished(() => database.close());
  const directory = emptyDirectory();
  const env = { DATABASE_URL: url, ...source };
  const run: Directory['run'] = (words, more) => tidemark(words.split(' '), { ...env, ...more }, directory);
  return {
    url,
    database,
    directory,
    env,
    begin: (words, more = {}) => start(words.split(' '), { ...env, ...more }, directory),
    beginHere: (words, more = {}) => beginInProcess(words.split(' '), { ...env, ...more }, directory),
    run,
    async say(words, more) {
      const ended = await run(words, more);
      expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
      return ended.stdout;
    },
    async fails(words, exitCode, said, more) {
      const stderr = typeof said === 'string' ? expect.stringContaining(said) : expect.stringMatching(said);
      const ended = await run(words, more);
      expect(ended).toMatchObject({ exitCode, stderr });
      return ended.stdout;
    },
    write: (text, file = 'tidemark.yaml') => writeFileSync(join(directory, file), text),
    async json(words) {
      const ended = await run(`${words} --json`);
      if (ended.exitCode !== 0) throw new Error(ended.stderr);
      return JSON.parse(ended.stdout);
    },
    query: async (sql, values = []) => (await database.pool.query<pg.QueryResultRow>(sql, values)).rows,
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
