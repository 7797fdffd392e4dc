import pg from 'pg';
import { expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../parts/free-port.ts';
import { ownReplica } from '../../parts/own-cluster.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { startService, tidemark } from '../command.ts';

// It starts three servers in sequence.
vi.setConfig({ testTimeout: 600_000 });

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

it('serves from a replica, and reports how far it is behind', async (context) => {
  const { primary, replica, stopPrimary } = await ownReplica(context, (url) =>
    tidemark(['migrate'], { DATABASE_URL: url }),
  );
  const env = { DATABASE_URL: primary, SERVE_DATABASE_URL: replica };
  const { address, root } = await startService({ ...env, METRICS_PORT: '0' });
  const asked = async () => {
    const answer = await fetch(`${address}/rates`);
    const lag = answer.headers.get('x-tidemark-replica-lag');
    return {
      rows: ((await answer.json()) as { data: unknown[] }).data.length,
      lag: lag === 'unknown' ? lag : Number(lag),
    };
  };
  const lagOf = async () => {
    const ready = (await (await fetch(`${root}readyz`)).json()) as { replicaLagSeconds?: number | null };
    return ready.replicaLagSeconds ?? -1;
  };
  await waitFor('the replica to follow', async () => (await lagOf()) === 0);
  expect(await asked()).toEqual({ rows: 0, lag: 0 });
  const [writer, replayer] = [await connected(primary), await connected(replica)];
  const insert = async (id: string) => {
    await writer.query(
      `with c as (insert into tidemark.currencies (currency, symbol, type) values ($1, 'X', 'fiat') returning id)
       insert into tidemark.rate_points (currency_id, time, rate_usd) select id, now(), 1 from c`,
      [id],
    );
  };
  await insert('one');
  await waitFor('the first row', async () => (await asked()).rows === 1);

  await replayer.query('select pg_wal_replay_pause()');
  await insert('two');
  await waitFor('a lag of two seconds', async () => (await lagOf()) > 2);
  const behind = await asked();
  expect(behind.rows).toBe(1);
  expect(behind.lag).toBeGreaterThan(2);
  await replayer.query('select pg_wal_replay_resume()');
  await waitFor('both rows', async () => (await asked()).rows === 2);
  await waitFor('the replica to catch up', async () => (await lagOf()) === 0);

  // Keys live in the primary.
  const issued = await tidemark(['keys', 'issue', '--name', 'Ann'], env);
  const withKey = await fetch(`${address}/rates`, { headers: { authorization: `Bearer ${issued.stdout.trim()}` } });
  expect([withKey.status, withKey.headers.get('x-ratelimit-limit')]).toEqual([200, '500']);

  // Without the primary the lag is the age of the newest transaction: an upper bound.
  await stopPrimary();
  const lag = async () => Number((await fetch(`${address}/rates`)).headers.get('x-tidemark-replica-lag'));
  await waitFor('a lag without the primary', async () => (await lag()) > 0);
});

it('starts without its replica, and names what is no replica', async () => {
  const { url, drop } = await createMigratedDatabase('plain');
  onTestFinished(() => drop());
  const serving = (replica: string) => startService({ DATABASE_URL: url, SERVE_DATABASE_URL: replica });
  const none = await serving(url);
  const answer = await fetch(`${none.address}/rates`);
  expect([answer.status, answer.headers.get('x-tidemark-replica-lag')]).toEqual([200, 'unknown']);
  expect(none.service.stderr()).toContain('it is no streaming replica');

  const away = await serving(`postgres://nobody@127.0.0.1:${await freePort()}/none`);
  expect((await fetch(`${away.root}readyz`)).status).toBe(503);
  expect(away.service.stderr()).toContain('the replica cannot be read');
});
