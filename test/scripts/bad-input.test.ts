import { mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrateQueueBackend } from '../../queue/backend.ts';
import { startSimulator } from '../../simulator/start.ts';
import { migrate } from '../../store/db/migrate.ts';
import { createTestDatabase } from '../parts/test-database.ts';
import { type Ended, emptyDirectory, market, start, tidemark } from './command.ts';

/** One line that names the cause, a remedy, no stack, and nothing on standard output. */
function expectRefusal(ended: Ended, exitCode: number, code: string, ...words: string[]): void {
  expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(ended.stderr).toMatch(new RegExp(`^tidemark: ${code}: .+; .+`));
  for (const word of words) expect(ended.stderr).toContain(word);
  expect(ended.exitCode).toBe(exitCode);
}

describe('rejects a wrong argument or variable in one line, before any work', () => {
  const unused = { DATABASE_URL: 'postgres://127.0.0.1:1/none' };

  it.each<[string[], Record<string, string>, string, string]>([
    [['nonsense'], {}, 'BAD_ARGUMENT', 'nonsense'],
    [['status', '--nonsense'], {}, 'BAD_ARGUMENT', '--nonsense'],
    [['statsu'], {}, 'BAD_ARGUMENT', 'Did you mean status?'],
    [['status', '--jsn'], {}, 'BAD_ARGUMENT', 'Did you mean --json?'],
    [['track', 'candles', '--exchange', 'binance'], {}, 'BAD_ARGUMENT', '--base'],
    [['track', 'candles', ...market, '--interval', 'm7', '--from', '1d'], {}, 'BAD_ARGUMENT', 'm7'],
    [['track', 'candles', ...market, '--interval', 'h6', '--from', '1d'], {}, 'BAD_ARGUMENT', 'h6'],
    [['track', 'candles', ...market, '--interval', 'm1,', '--from', '1d'], {}, 'BAD_ARGUMENT', 'comma'],
    [['track', 'candles', ...market, '--interval', ',', '--from', '1d'], {}, 'BAD_ARGUMENT', 'comma'],
    [
      ['track', 'candles', ...market, '--interval', '', '--from', '1d'],
      {},
      'BAD_ARGUMENT',
      'names no interval;',
    ],
    [
      ['track', 'history', '--asset', 'bitcoin', '--interval', 'w1', '--from', '1d'],
      {},
      'BAD_ARGUMENT',
      'w1',
    ],
    [['track', 'history', '--asset', '', '--interval', 'd1', '--from', '1d'], {}, 'BAD_ARGUMENT', '--asset'],
    [
      ['track', 'history', '--asset', 'bitcoin,ethereum', '--interval', 'd1', '--from', '1d'],
      {},
      'BAD_ARGUMENT',
      '--asset "bitcoin,ethereum" is not one id',
    ],
    [
      ['backfill', 'candles', ...market, '--base', 'bitcoin,dogecoin', '--interval', 'h1', '--from', '1d'],
      {},
      'BAD_ARGUMENT',
      'tidemark.yaml',
    ],
    [
      ['track', 'candles', ...market, '--interval', 'm1', '--from', '2024-02-31'],
      {},
      'BAD_ARGUMENT',
      '2024-02-31',
    ],
    [
      ['backfill', 'candles', ...market, '--interval', 'm1', '--from', '2024-02-03', '--to', '2024-02-03'],
      {},
      'BAD_ARGUMENT',
      '--from',
    ],
    [
      ['track', 'history', '--asset', '\u202ebitcoin', '--interval', 'd1', '--from', '1y'],
      {},
      'BAD_ARGUMENT',
      '"\\u202ebitcoin" is not an id',
    ],
    [['worker', '--concurrency', '0'], {}, 'BAD_ARGUMENT', '--concurrency'],
    [['simulate', '--port', '70000'], {}, 'BAD_ARGUMENT', '70000'],
    [['simulate', '--host', '192.0.2.1'], {}, 'BAD_ARGUMENT', '192.0.2.1'],
    [['simulate', '--host', 'nobody.invalid'], {}, 'BAD_ARGUMENT', 'nobody.invalid'],
    [['simulate', '--error-rate', '1.5'], {}, 'BAD_ARGUMENT', '--error-rate'],
    [['simulate', '--error-rate', '0.7', '--html-rate', '0.7'], {}, 'BAD_ARGUMENT', 'sum'],
    [['migrate', 'sideways'], {}, 'BAD_ARGUMENT', 'sideways'],
    [['migrate', 'down'], {}, 'BAD_ARGUMENT', '--yes'],
    [['status'], { SOURCE_URL: 'not a url' }, 'BAD_CONFIGURATION', 'SOURCE_URL'],
    [['status'], { SOURCE_URL: 'https://x.example/v1' }, 'BAD_CONFIGURATION', '/v2'],
    [['run'], { SOURCE_REQUESTS_PER_MINUTE: 'lots' }, 'BAD_CONFIGURATION', 'lots'],
  ])('%j %j', async (words, env, code, word) => {
    expectRefusal(await tidemark(words, { ...unused, ...env }), 2, code, word);
  });

  it('a .env that is not a file', async () => {
    const directory = emptyDirectory();
    mkdirSync(join(directory, '.env'));
    expectRefusal(await start(['status'], {}, directory).ended, 2, 'BAD_CONFIGURATION', '.env');
  });

  it.each([
    [['status']],
    [['status', '--watch']],
    [['gaps']],
    [['why', '1']],
    [['plan']],
    [['untrack', '1']],
    [['retention', 'show']],
    [['keys', 'list']],
    [['viewer', 'looks']],
    [['move', '--to', 'postgres://127.0.0.1:1/none']],
  ])('creates no database to read: %j', async (words) => {
    const directory = emptyDirectory();
    const ended = await start(words, { SOURCE_URL: 'http://127.0.0.1:1/v2' }, directory).ended;
    expectRefusal(ended, 5, 'NO_DATABASE', directory, '`tidemark run`');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('creates no database to fetch from a source that is not set', async () => {
    const directory = emptyDirectory();
    const words = ['backfill', 'history', '--asset', 'bitcoin', '--interval', 'd1', '--from', '2024-01-01'];
    const ended = await start(words, {}, directory).ended;
    expectRefusal(ended, 2, 'BAD_CONFIGURATION', 'SOURCE_URL is not set', 'set it');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('creates no database to import a file that is absent', async () => {
    const directory = emptyDirectory();
    const ended = await start(['import', 'none.csv'], {}, directory).ended;
    expectRefusal(ended, 8, 'FILE_NOT_USABLE', 'none.csv: there is no such file', 'check the path');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('shows the help without arguments', async () => {
    const ended = await tidemark([], unused);
    expect(ended.exitCode).toBe(2);
    expect(ended.stderr).toContain('Usage: tidemark');
  });

  it.each([
    [[]],
    [['track']],
    [['apply']],
    [['track', 'candles']],
    [['backfill', 'history']],
    [['simulate']],
    [['demo']],
  ])('explains itself: %j --help', async (words) => {
    const ended = await tidemark([...words, '--help'], unused);
    expect(ended.exitCode).toBe(0);
    expect(ended.stdout).toContain(`Usage: ${['tidemark', ...words].join(' ')}`);
    expect(ended.stderr).toBe('');
  });

  it.each([[[]], [['track']], [['track', 'candles']]])(
    'explains by its first word: help %j',
    async (words) => {
      const ended = await tidemark(['help', ...words], unused);
      expect(ended).toEqual(await tidemark([...words, '--help'], unused));
      expect(ended.stdout).toContain(`Usage: ${['tidemark', ...words].join(' ')}`);
    },
  );
});

describe('names what is unreachable or unusable in one line', () => {
  const nobody = 'postgres://someone:hush@127.0.0.1:1/nothing';

  async function migrated(): Promise<Record<string, string>> {
    const { url, drop } = await createTestDatabase();
    onTestFinished(drop);
    await migrate({ url, direction: 'up', ifBusy: 'wait' });
    await migrateQueueBackend({ databaseUrl: url, namespace: 'tidemark' }, 'up');
    return { DATABASE_URL: url };
  }

  it('an unreachable database, without its password', async () => {
    const ended = await tidemark(['status'], { DATABASE_URL: nobody });
    expectRefusal(ended, 5, 'DATABASE_UNREACHABLE', '127.0.0.1:1');
    expect(ended.stderr).not.toContain('hush');
    expectRefusal(await tidemark(['migrate'], { DATABASE_URL: nobody }), 5, 'DATABASE_UNREACHABLE');
  });

  it('a database that does not exist, and one without the schema', async () => {
    const { url, drop } = await createTestDatabase();
    onTestFinished(drop);
    const missing = new URL(url);
    missing.pathname = '/no_such_database';
    expectRefusal(await tidemark(['status'], { DATABASE_URL: missing.href }), 5, 'DATABASE_UNREACHABLE');
    expectRefusal(
      await tidemark(['status'], { DATABASE_URL: url }),
      5,
      'DATABASE_NOT_MIGRATED',
      'tidemark migrate',
    );
  });

  it('a database error that contains its password', async () => {
    const { url, drop } = await createTestDatabase();
    onTestFinished(drop);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    const role = `migrate_${new URL(url).pathname.slice(-12)}`;
    await client.query(`create role ${role} login password 'migrate'`);
    onTestFinished(async () => void (await client.query(`drop role ${role}`)));
    const given = new URL(url);
    given.username = role;
    given.password = 'migrate';
    const ended = await tidemark(['status'], { DATABASE_URL: given.href });
    expectRefusal(ended, 5, 'DATABASE_NOT_MIGRATED', 'run `tidemark migrate`');
    // Its server would tell whether a password is right.
    given.pathname = '/no_such_database';
    const missing = await tidemark(['status'], { DATABASE_URL: given.href });
    expectRefusal(missing, 5, 'DATABASE_UNREACHABLE', 'no_such_database', 'does not exist');
  });

  it('an unreachable Redis', async () => {
    const env = { ...(await migrated()), REDIS_URL: 'redis://127.0.0.1:1' };
    expectRefusal(await tidemark(['status'], env), 6, 'QUEUE_UNREACHABLE', '127.0.0.1:1');
    // One that was never there is not waited for.
    const source = { ...env, SOURCE_URL: 'http://127.0.0.1:1/v2' };
    expectRefusal(
      await tidemark(
        ['backfill', 'history', '--asset', 'bitcoin', '--interval', 'd1', '--from', '9d'],
        source,
      ),
      6,
      'QUEUE_UNREACHABLE',
      '127.0.0.1:1',
    );
  });

  it('a second migration while one runs', async () => {
    const { url, drop } = await createTestDatabase();
    onTestFinished(drop);
    const both = await Promise.all([1, 2].map(() => tidemark(['migrate'], { DATABASE_URL: url })));
    const codes = both.map((ended) => ended.exitCode).sort();
    // They may also have run one after the other; what must not happen is a third outcome.
    expect([
      [0, 0],
      [0, 5],
    ]).toContainEqual(codes);
    for (const ended of both.filter((one) => one.exitCode === 5))
      expectRefusal(ended, 5, 'MIGRATION_RUNNING');
    expect((await tidemark(['status'], { DATABASE_URL: url })).exitCode).toBe(0);
  });

  it('a port that is in use', async () => {
    const simulator = await startSimulator();
    onTestFinished(() => simulator.close());
    const ended = await tidemark(['simulate', '--port', String(simulator.port)]);
    expectRefusal(ended, 2, 'PORT_IN_USE', String(simulator.port));
  });

  it('a series id that does not exist', async () => {
    const env = await migrated();
    for (const word of ['4711', 'bitcoin'])
      expectRefusal(await tidemark(['untrack', word], env), 2, 'UNKNOWN_SERIES', word);
  });

  const history = ['backfill', 'history', '--interval', 'd1', '--from', '2024-01-01', '--to', '2024-02-01'];

  it('no source', async () => {
    const ended = await tidemark([...history, '--asset', 'bitcoin'], await migrated());
    expectRefusal(ended, 2, 'BAD_CONFIGURATION', 'SOURCE_URL');
  });

  it('a source that does not answer', async () => {
    const env = {
      ...(await migrated()),
      SOURCE_URL: 'http://127.0.0.1:1/v2',
      SOURCE_REQUESTS_PER_MINUTE: '0',
    };
    const ended = await tidemark([...history, '--asset', 'bitcoin'], env);
    expectRefusal(ended, 4, 'SOURCE_UNREACHABLE', '127.0.0.1:1');
  });

  it.each([
    ['HTML', 200, 'text/html', '<!doctype html><title>Welcome</title>'],
    ['HTML with 404', 404, 'text/html', '<!doctype html><title>Not here</title>'],
    ['other JSON', 200, 'application/json', '{"hello":"world"}'],
  ])('a source that answers with %s', async (_, status, type, body) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const env = {
      ...(await migrated()),
      SOURCE_URL: `http://127.0.0.1:${port}/v2`,
      SOURCE_REQUESTS_PER_MINUTE: '0',
    };
    expectRefusal(
      await tidemark([...history, '--asset', 'bitcoin'], env),
      4,
      'SOURCE_NOT_A_MARKET_DATA_SERVICE',
    );
  });

  it('an asset and a market that the source does not know', async () => {
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const env = { ...(await migrated()), SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '0' };
    expectRefusal(
      await tidemark([...history, '--asset', 'no-such-asset'], env),
      4,
      'UNKNOWN_AT_SOURCE',
      'no-such-asset',
    );
    const candles = [
      'backfill',
      'candles',
      '--exchange',
      'binance',
      '--base',
      'nothing',
      '--quote',
      'tether',
    ];
    expectRefusal(
      await tidemark([...candles, '--interval', 'm1', '--from', '2024-01-01', '--to', '2024-03-01'], env),
      4,
      'UNKNOWN_AT_SOURCE',
      'nothing',
    );
    // The sixty days of minutes were not all asked for.
    expect(simulator.requests().total).toBeLessThan(40);
  });
});
