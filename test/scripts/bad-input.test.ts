import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../simulator/start.ts';
import { createMigratedDatabase, createTestDatabase, type TestDatabase } from '../parts/test-database.ts';
import { serveBody } from '../sources/local-server.ts';
import { type Ended, emptyDirectory, program, start, tidemark } from './command.ts';
import { runInProcess } from './in-process.ts';

/** One line that names the cause, a remedy (the cause of a wrong argument is one), no stack, nothing on standard output. */
function expectRefusal(ended: Ended, exitCode: number, code: string, ...words: string[]): void {
  expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(ended.stderr).toMatch(new RegExp(`^tidemark: ${code}: .+${code === 'BAD_ARGUMENT' ? '' : '; .+'}`));
  for (const word of words) expect(ended.stderr).toContain(word);
  expect(ended.exitCode).toBe(exitCode);
}

const run = (words: string, env: Record<string, string>) => tidemark(words.split(' '), env);
const nowhere = 'http://127.0.0.1:1/v2';
const nobody = 'postgres://someone:hush@127.0.0.1:1/nothing';
const market = '--exchange binance --base bitcoin --quote tether';
const days = '--from 2024-01-01 --to 2024-02-01';
const history = `backfill history --interval d1 ${days} --asset`;

it('names a removed variable that is set, once', async () => {
  const { stderr } = await run(`${history} bitcoin`, { GRACE_SECONDS: '5', SOURCE_URL: nowhere, DATABASE_URL: nobody });
  expect(stderr.match(/GRACE_SECONDS has no effect: .*/g)).toEqual([
    'GRACE_SECONDS has no effect: a period counts as closed 60 seconds after its end',
  ]);
});

it('names the Node that it needs on an older one', () => {
  const older = `data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'18.20.8'}})`;
  const { stderr, status } = spawnSync(process.execPath, ['--import', older, program, 'status'], { encoding: 'utf8' });
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  expect(engines.node).toBe('>=20.19.0');
  expect([stderr, status]).toEqual(['tidemark: this is Node 18.20.8; Tidemark needs Node 20.19 or newer\n', 2]);
});

describe('rejects a wrong argument or variable in one line, before any work', () => {
  const unused = { DATABASE_URL: 'postgres://127.0.0.1:1/none' };

  it.each([
    ['status --nonsense', "unknown option '--nonsense'; see --help\n"],
    ['why', "missing required argument 'series'\n"],
    ['statsu', 'Did you mean status?'],
    ['status --every 2s', '--every goes with --watch\n'],
    ['status --watch --check', 'exclude each other'],
    [`track candles ${market} --interval h6 --from 1d`, 'h6'],
    [`track candles ${market} --interval , --from 1d`, 'comma'],
    ['track history --asset bitcoin,ethereum --interval d1 --from 1d', '--asset "bitcoin,ethereum" is not one id'],
    [`backfill candles ${market} --base bitcoin,dogecoin --interval h1 --from 1d`, 'tidemark.yaml'],
    [`backfill candles ${market} --interval m1 --from 2024-02-03 --to 2024-02-03`, '--from'],
    ['track history --asset \u202ebitcoin --interval d1 --from 1y', '"\\u202ebitcoin" is not an id'],
    ['worker --concurrency 0', '--concurrency'],
    ['simulate --port 70000', '70000'],
    ['simulate --profile coinbase --answer-form open-rows', 'cannot be open-rows: those of kraken, okx, okx-swap can'],
    ['simulate --error-rate 0.7 --html-rate 0.7', 'sum'],
    ['migrate down', '--yes'],
    ['viewer pg_monitor', 'invalid role name'],
    ['viewer looks --password-file /nowhere/at/all', '--password-file'],
    [`export candles ${market} --interval 1m`, '--interval: "1m" is no interval of candles; did you mean m1?'],
    [`export candles ${market} --interval m7`, '--interval: "m7" is no interval of candles, only m1, m5'],
    ['export rates --json', '--json and the points'],
    [
      'export rates --format csv --out /nowhere/rates.parquet',
      '--format csv does not match the file name /nowhere/rates.parquet',
    ],
    ['export rates --out /nowhere/rates.csv.gz', 'export does not compress'],
    ['import x.csv --format kraken --exchange kraken', '--format kraken needs --base, --quote, --interval'],
    ['import x.csv --base bitcoin', '--base needs --format binance, kraken, cryptodatadownload, ccxt-json'],
    [`import x.csv --format binance ${market} --interval m1,h1`, '--interval m1,h1 names several intervals'],
    [`import x.csv --format binance ${market} --interval m1 --follow`, '--follow is for files of `export`'],
    ['move --to secret', '--to is not an address that begins with postgres://; '],
    ['complete ksh', 'ksh'],
    ['verify --sample 3 --all', '--all'],
    ['track assets --every 9s', '--every "9s"'],
    ['untrack markets --asset x', '--asset'],
  ])('%s', async (words, word) => {
    const ended = await run(words, unused);
    expectRefusal(ended, 2, 'BAD_ARGUMENT', word);
    expect(ended.stdout + ended.stderr.replace('--to secret', '')).not.toContain('secret');
  });

  it.each([
    ['dir', 'lake', ''],
    ['dir', 'lake', '', '--iceberg'],
    ['file', 'import', ''],
    ['file', 'import', 'none.csv', ''],
    ['--sidecar', 'import', 'none.csv', '--sidecar', ''],
    ['--out', 'export', 'rates', '--out', ''],
    ['--out', 'export', 'rates', '--out='],
    ['--sidecar', 'export', 'rates', '--out', 'rates.csv', '--sidecar', ''],
    ['--to', 'move', '--to', ''],
    ['--file', 'apply', '--file', ''],
    ['--password-file', 'viewer', 'looks', '--password-file', ''],
    ['series', 'why', ''],
    ['series', 'retry', 'kraken *', ' '],
    ['series', 'untrack', '\t'],
    ['source', 'sources', 'pause', ' '],
    ['--against', 'verify', '--against', ' '],
    ['--symbol', 'track', 'candles', '--source', 'kraken', '--symbol', ' ', '--interval', 'h1', '--from', '1d'],
    ['--search', 'markets', '--source', 'kraken', '--search', ' '],
    ['--currency', 'export', 'rates', '--currency', ' '],
  ])('an empty %s: %s %j', async (name, ...words) => {
    const directory = emptyDirectory();
    expectRefusal(await runInProcess(words, unused, directory), 2, 'BAD_ARGUMENT', `${name} is empty; `);
    expect(readdirSync(directory)).toEqual([]);
  });

  it.each([
    ['export', 'candles', '--symbol', '\u202ebtc', '--interval', 'm1'],
    ['track', 'candles', '--source', 'kraken', '--symbol', 'BTC/USD', '--interval', '\u202em1', '--from', '1d'],
    ['track', 'history', '--asset', 'bitcoin', '--interval', 'd1', '--from', '\u202e1d'],
    ['\u202estatus'],
    ['status', '--\u202eall'],
  ])('shows what cannot be seen of what was typed: %j', async (...words) => {
    const { stderr } = await runInProcess(words, unused, emptyDirectory());
    expect(stderr).toContain('\\u202e');
    expect(stderr).not.toContain('\u202e');
  });

  it.each([
    [{ SOURCE_URL: 'not a url' }, 'SOURCE_URL'],
    [{ SOURCE_URL: 'https://x.example/v1' }, '/v2'],
  ])('%j', async (env, word) => {
    expectRefusal(await run('status', { ...unused, ...env }), 2, 'BAD_CONFIGURATION', word);
  });

  it('ends a process with the exit code, for an argument and for a .env that is not a file', async () => {
    const directory = emptyDirectory();
    expectRefusal(await start(['statsu'], {}, directory).ended, 2, 'BAD_ARGUMENT', 'status');
    mkdirSync(join(directory, '.env'));
    expectRefusal(await start(['status'], {}, directory).ended, 2, 'BAD_CONFIGURATION', '.env');
  });

  it.each(['status', 'untrack 1', 'keys list', 'move --to postgres://127.0.0.1:1/none'])(
    'creates no database to read: %s',
    async (words) => {
      const directory = emptyDirectory();
      const ended = await runInProcess(words.split(' '), { SOURCE_URL: nowhere }, directory);
      expectRefusal(ended, 5, 'NO_DATABASE', directory, '`tidemark run`');
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  it.each([
    [`${history} bitcoin`, 2, 'BAD_CONFIGURATION', 'SOURCE_URL is not set', 'set it'],
    ['import none.csv', 8, 'FILE_NOT_USABLE', 'none.csv: there is no such file', 'check the path'],
  ] as [string, number, string, string, string][])(
    'creates no database to fail: %s',
    async (words, exitCode, code, ...parts) => {
      const directory = emptyDirectory();
      expectRefusal(await runInProcess(words.split(' '), {}, directory), exitCode, code, ...parts);
      expect(readdirSync(directory)).toEqual([]);
    },
  );
});

describe('names what is unreachable or unusable in one line', () => {
  let migrated: TestDatabase;
  beforeAll(async () => {
    migrated = await createMigratedDatabase();
  });
  afterAll(() => migrated.drop());
  /** With a source that answers nothing. */
  const environment = (more: Record<string, string> = {}) => ({
    ...{ DATABASE_URL: migrated.url, SOURCE_URL: nowhere, SOURCE_REQUESTS_PER_MINUTE: '0' },
    ...more,
  });

  it('an unreachable database, without its password', async () => {
    for (const words of ['status', 'migrate']) {
      const ended = await run(words, { DATABASE_URL: nobody });
      expectRefusal(ended, 5, 'DATABASE_UNREACHABLE', '127.0.0.1:1');
      expect(ended.stdout + ended.stderr).not.toContain('hush');
    }
  });

  it('a database that does not exist, and one without the schema', async () => {
    const { url, drop } = await createTestDatabase();
    onTestFinished(drop);
    const missing = new URL(url);
    missing.pathname = '/no_such_database';
    expectRefusal(
      await run('status', { DATABASE_URL: missing.href }),
      ...([5, 'DATABASE_UNREACHABLE', 'does not exist; create it: `createdb no_such_database`'] as const),
    );
    expectRefusal(await run('status', { DATABASE_URL: url }), 5, 'DATABASE_NOT_MIGRATED', 'tidemark migrate');
  });

  it('an unreachable Redis', async () => {
    const env = environment({ REDIS_URL: 'redis://127.0.0.1:1' });
    // One that was never there is not waited for.
    for (const words of ['status', `${history} bitcoin`])
      expectRefusal(await run(words, env), 6, 'QUEUE_UNREACHABLE', '127.0.0.1:1');
  });

  it('a series that does not exist', async () => {
    for (const word of ['4711', 'bitcoin'])
      for (const command of ['untrack', 'verify', 'repair', 'why'])
        expectRefusal(await run(`${command} ${word}`, environment()), 2, 'UNKNOWN_SERIES', word);
    for (const [words, line] of [
      [`candles ${market} --interval m5`, 'binance bitcoin/tether m5 was never tracked here'],
      ['rates --currency florin', 'no rate of florin is stored'],
    ])
      expectRefusal(await run(`export ${words}`, environment()), 2, 'UNKNOWN_SERIES', line ?? '');
    await run(`track candles ${market} --interval m1 --from 1d`, environment());
    for (const [words, meant] of [
      [`export candles ${market.replace('binance', 'binanse')} --interval m1`, 'binance bitcoin/tether m1'],
      ['retry binanse*m1', 'binance*m1'],
      ['verify binance * bitcoin/tehter m1', 'binance * bitcoin/tether m1'],
      ['why binanse bitcoin/tether m1', 'binance bitcoin/tether m1'],
    ])
      expectRefusal(await run(words ?? '', environment()), 2, 'UNKNOWN_SERIES', `; did you mean "${meant}"?`);
    for (const command of ['verify', 'repair', 'retry', 'why', 'quality'])
      for (const [list, view] of [
        ['rates', 'latest_rates'],
        ['asset-markets', 'asset_markets'],
        ['markets of bitcoin', 'asset_markets'],
      ]) {
        const refused = await run(`${command} ${list}`, environment());
        expectRefusal(refused, 2, 'UNKNOWN_SERIES', `"${list}" is a list, not a series: `);
        expect(refused.stderr).toContain(`\`select * from ${view}\``);
        expect(refused.stderr).not.toContain('did you mean');
      }
    await run('track asset-markets --asset bitcoin', environment());
    for (const [words, said] of [
      ['untrack asset-markets --asset bitcon', 'not tracked: did you mean "markets of bitcoin"?'],
      ['sources pause krakn', 'did you mean "kraken"?'],
    ])
      expectRefusal(await run(words ?? '', environment()), 2, 'BAD_ARGUMENT', said ?? '');
    const estimate = `backfill candles ${market.replace('binance', 'binanse')} --interval m1 --from 1d --dry-run`;
    expect((await run(estimate, environment())).stderr).toBe(
      'tidemark: binanse bitcoin/tether: did you mean "binance"?\n',
    );
  });

  it('a source that answers with HTML', async () => {
    const page = '<!doctype html><title>Welcome</title>';
    const { baseUrl } = await serveBody(page, 200, { 'content-type': 'text/html' });
    const env = environment({ SOURCE_URL: baseUrl });
    expectRefusal(await run(`${history} bitcoin`, env), 4, 'SOURCE_NOT_A_MARKET_DATA_SERVICE');
  });

  it('an asset and a market that the source does not know', async () => {
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const env = environment({ SOURCE_URL: simulator.url });
    expectRefusal(await run(`${history} no-such-asset`, env), 4, 'UNKNOWN_AT_SOURCE', 'no-such-asset');
    const candles = `backfill candles --exchange binance --base nothing --quote tether --interval m1`;
    const ended = await run(`${candles} --from 2024-01-01 --to 2024-03-01`, env);
    expectRefusal(ended, 4, 'UNKNOWN_AT_SOURCE', 'nothing');
    // The sixty days of minutes were not all asked for.
    expect(simulator.requests().total).toBeLessThan(40);
  });
});
