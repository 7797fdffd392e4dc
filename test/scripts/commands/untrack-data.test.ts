/** `untrack --delete-data`: what it asks, what it tells, who may, and that it goes on after a kill. */

import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { grantLogin } from '../../../schema/login-roles.ts';
import { inTerminal, noPseudoTerminal } from '../../parts/pseudo-terminal.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs, program } from '../command.ts';
import { openWatched } from './watch-list-parts.ts';

const candles = 'candles --exchange binance --base bitcoin --quote tether';
const name = 'binance bitcoin/tether';

async function filled() {
  const world = await openWatched();
  await world.say(`backfill ${candles} --interval h1,d1 --from 2024-03-01 --to 2024-03-11`);
  const left = async () =>
    (
      await world.query('select series_id as id, count(*)::int as n from tidemark.candle_points group by 1 order by 1')
    ).map(({ id, n }) => `${id}: ${n}`);
  expect(await left()).toEqual(['1: 240', '2: 10']);
  return { ...world, left };
}

it('says what it deletes, and deletes nothing that is not confirmed', { timeout: processesMs }, async () => {
  const { fails, json, left, query, run, say } = await filled();
  const data = /240 points from 2024-03-01 to 2024-03-10 23:00Z, 0 revisions, \d+ rows? of the ledger, 0 rejected rows/;
  const refused = await run(`untrack ${name} h1 --delete-data`);
  expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
  expect(refused.stderr).toMatch(
    /^tidemark: BAD_ARGUMENT: This deletes, irreversibly, binance bitcoin\/tether h1: [^\n]*\n$/,
  );
  expect(refused.stderr).toMatch(data);
  expect(refused.stderr).toContain('add --yes to confirm');
  await fails(`untrack ${name} h1 --yes`, 2, /--yes goes with --delete-data/);
  expect(await left()).toEqual(['1: 240', '2: 10']);

  expect(await say(`untrack ${name} h1 --delete-data --yes`)).toMatch(data);
  expect(await left()).toEqual(['2: 10']);
  await fails(`untrack ${name} h1 --delete-data --yes`, 2, /UNKNOWN_SERIES/);
  const [row] = await query(`select action, address, state, result from public.dashboard_actions`);
  expect(row).toMatchObject({ action: 'delete', state: 'done', address: expect.stringContaining('@') });
  expect(row?.result).toMatch(/^deleted binance bitcoin\/tether h1: 240 points/);
  // Where it was asked for with another one, that one is left.
  expect(await json('backfills')).toMatchObject([{ series: 1, state: 'done' }]);
  expect(await json(`untrack ${name} d1 --delete-data --yes`)).toMatchObject({
    ...{ seriesId: 2, dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval: 'd1' },
    deleted: {
      points: 10,
      from: '2024-03-01T00:00:00.000Z',
      to: '2024-03-10T00:00:00.000Z',
      revisions: 0,
      rejected: 0,
    },
  });
  expect(await say('status')).not.toContain('bitcoin');
  expect(await say('backfills')).toMatch(/^ *1 +backfill +done +deleted /m);
  expect(await json('backfills')).toMatchObject([{ series: 0, names: [], state: 'done' }]);
});

it('goes on after a kill, whatever is named next', { timeout: processesMs }, async () => {
  const { begin, left, query, say, url } = await filled();
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('begin; lock table tidemark.candle_points in share mode');
  const killed = begin(`untrack ${name} h1 --delete-data --yes`);
  await waitFor('a piece that waits', async () => {
    const waiting = await query(`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
        and query like 'delete from tidemark.candle_points%'`);
    return waiting.length > 0;
  });
  killed.kill('SIGKILL');
  await killed.ended.catch(() => {});
  await other.query('rollback');
  expect(await left()).toEqual(['1: 240', '2: 10']);
  expect(await say(`untrack ${name} h1 --delete-data --yes`)).toMatch(
    /^went on where it was stopped, and deleted binance bitcoin\/tether h1: 240 points/,
  );
  expect(await left()).toEqual(['2: 10']);
});

it('is refused to the role of the workers, with the way to do it', { timeout: processesMs }, async () => {
  const { database, fails, left, query, url } = await filled();
  const role = `worker_${new URL(url).pathname.slice(-12)}`;
  await grantLogin(database, { role, kind: 'worker', password: 'secret' }, null);
  onTestFinished(async () => void (await query(`drop owned by ${role}; drop role ${role}`)));
  const asWorker = new URL(url);
  Object.assign(asWorker, { username: role, password: 'secret' });
  await fails(
    `untrack ${name} h1 --delete-data --yes`,
    5,
    /DATABASE_REFUSED.*docker compose run --rm migrate untrack/,
    { DATABASE_URL: asWorker.href },
  );
  expect(await left()).toEqual(['1: 240', '2: 10']);
});

it('refuses a series of the watch list', { timeout: processesMs }, async () => {
  const { fails, say, write } = await openWatched();
  write(
    'candles:\n  - exchange: binance\n    base: bitcoin\n    quote: tether\n    interval: [d1]\n    from: 2024-03-01\n',
  );
  await say('apply');
  const refused = () => fails(`untrack ${name} d1 --delete-data --yes`, 2, /is in the watch list.*tidemark apply/);
  await refused();
  // A command asked for the same before the file did.
  await say(`untrack ${name} d1`);
  await say('track candles --exchange binance --base bitcoin --quote tether --interval d1 --from 2024-03-01');
  await say('apply');
  await refused();
  // The list of markets is not known: whether it still names the series is not either.
  write(`candles: [{ exchange: binance, base: 'no*', quote: tether, interval: d1, from: 2024-03-01 }]\n`);
  await fails('apply', 2, /need the list of markets/, { SOURCE_URL: '' });
  await refused();
  write('candles: []\n');
  await say('apply');
  expect(await say(`untrack ${name} d1 --delete-data --yes`)).toContain('deleted binance bitcoin/tether d1: 0 points');
});

const missing = noPseudoTerminal();
it.skipIf(missing !== '')('asks on a terminal', { timeout: processesMs }, async () => {
  const { env, left } = await filled();
  const ask = async (answer: string) => {
    const words = [process.execPath, program, 'untrack', '1', '--delete-data'];
    const session = await inTerminal(words, env, { columns: 200, rows: 24 });
    await waitFor('the question', () => session.output().includes('Type delete to confirm: '));
    session.type(answer);
    return session.ended;
  };
  expect(await ask('yes\r')).toBe(2);
  expect(await left()).toEqual(['1: 240', '2: 10']);
  expect(await ask('delete\r')).toBe(0);
  expect(await left()).toEqual(['2: 10']);
});
