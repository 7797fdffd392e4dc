import pg from 'pg';
import { expect, it, onTestFinished, test } from 'vitest';
import { migrate } from '../../../schema/migrate.ts';
import { ownCluster } from '../../parts/own-cluster.ts';
import { waitFor, waitForLock } from '../../parts/wait-for.ts';
import { openWatched, type Watched, watchedAt } from './watch-list-parts.ts';

const market = 'exchange: binance, base: bitcoin, quote: tether';
const before = `candles: [{ ${market}, interval: h1, from: 2024-01-01 }]`;
/** Something of every kind: a series that is new, one that is narrowed, one that is stopped, lists and settings. */
const after = `
candles: [{ ${market}, interval: h1, from: 2024-02-01 }]
history: [{ asset: [bitcoin, tether], interval: d1, from: 2024-01-01 }]
lists: { exchanges: 1h, assets: off }
read-again: { days: 5 }
retention: { rates: 2y }
prune: true
`;

async function state({ query, series }: Watched) {
  const others = await query(
    `select name as line from tidemark.settings where name like 'watch_list.%' or name like 'retention.%'
     union all select concat_ws(' ', list, asset, every, untracked_at is null) from tidemark.lists order by 1`,
  );
  return [...(await series()), ...others.map(({ line }) => line)];
}

async function prepared(watched: Watched): Promise<void> {
  watched.write(before);
  await watched.say('apply');
  await watched.run('track history --asset ethereum --interval d1 --from 2024-01-01');
  await watched.run('track assets');
  watched.write(after);
}

/** Holds up the last write of an apply, so that all of its others are made and none is committed. */
async function holdUp(watched: Watched) {
  const holder = new pg.Client({ connectionString: watched.url });
  holder.on('error', () => {});
  await holder.connect();
  onTestFinished(() => holder.end().catch(() => {}));
  await holder.query('begin');
  await holder.query(`select from tidemark.settings where name = 'watch_list.applied' for update`);
  const sessions = () => watched.query(`select from pg_stat_activity where application_name = 'tidemark apply'`);
  return {
    held: () => waitForLock(watched.database.pool),
    release: () => holder.query('rollback'),
    gone: () => waitFor('its session to end', async () => (await sessions()).length === 0),
  };
}

it('changes nothing when killed in the middle', async () => {
  const watched = await openWatched();
  await prepared(watched);
  const was = await state(watched);
  const { held, release, gone } = await holdUp(watched);
  const running = watched.begin('apply');
  await held();
  running.kill('SIGKILL');
  await running.ended;
  await release();
  await gone();
  expect(await state(watched)).toEqual(was);
  expect(await watched.say('apply')).toMatch(/\napplied\n$/);
  expect(await state(watched)).not.toEqual(was);
  expect(await watched.say('apply')).toMatch(/^nothing to do/);
});

test('a database that is lost in the middle ends it in one line, and nothing is half done', async (context) => {
  const cluster = await ownCluster(context);
  await migrate({ url: cluster.url, direction: 'up', ifBusy: 'wait' });
  const watched = await watchedAt(cluster.url);
  await prepared(watched);
  const was = await state(watched);
  const { held } = await holdUp(watched);
  const running = watched.begin('apply');
  await held();
  await cluster.crash();
  const ended = await running.ended;
  expect(ended.exitCode).toBe(5);
  expect(ended.stderr).toMatch(/^tidemark: DATABASE_UNREACHABLE: [^\n]+; [^\n]+\n$/);
  expect(ended.stdout).not.toContain('applied');
  await cluster.start();
  expect(await state(watched)).toEqual(was);
});

/** The second part needs no list. */
const pattern = `candles: [{ quote: tether, interval: h1, from: 1y }]
history: [{ asset: bitcoin, interval: d1, from: 2024-01-01 }]
prune: true`;

it('applies the rest and fails in one line when the lists of a pattern cannot be polled', async () => {
  const { write, fails, run, say, query, series, simulator } = await openWatched();
  await run('track history --asset ethereum --interval d1 --from 2024-01-01');
  write(pattern);
  const unset =
    /^tidemark: BAD_CONFIGURATION: the patterns of the watch list need the list of markets of the last day, and SOURCE_URL is not set; [^\n]+\n$/;
  const leftOut = /\nnote: tidemark.yaml:1:11: left out until the list of markets is polled: /;
  expect(await fails('apply --dry-run', 2, unset, { SOURCE_URL: '' })).toMatch(leftOut);
  expect(await series()).toHaveLength(1);
  expect(await fails('apply', 2, unset, { SOURCE_URL: '' })).toMatch(leftOut);
  expect(await say('status')).toContain('a part of the watch list waits: tidemark.yaml:1:11: left out until the list');
  const away = { SOURCE_URL: 'http://127.0.0.1:1/v2', WORKER_ATTEMPTS: '1' };
  const notPolled = /^tidemark: LIST_NOT_POLLED: the list of markets could not be polled: [^\n]+; [^\n]+\n$/;
  expect(await fails('apply', 4, notPolled, away)).toMatch(leftOut);
  expect(await query('select from tidemark.list_polls where completed_at is null and given_up_at is null')).toEqual([]);
  // What is not in the file stays until it is known as a whole.
  expect(await series()).toEqual(
    ['bitcoin', 'ethereum'].map((asset) => `${asset} d1 [2024-01-01 00:00,) tracked 0 {}`),
  );
  // A source that is there again is asked at once, whatever the failure was.
  expect(await say('apply')).toMatch(/\napplied\n$/);
  expect(simulator.requests().total).toBe(2);
  expect((await series()).filter((line) => / ethereum .* untracked /.test(` ${line}`))).toHaveLength(1);
  expect(await say('status')).not.toContain('waits');
});
