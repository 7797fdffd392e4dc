import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../clock.ts';
import { acquireEmbeddedDatabase } from '../../embedded/acquire.ts';
import { leave, query, scratchDirectory, serverPid, startHolder, urlHeldBy } from './scratch.ts';

const modeOf = (...path: string[]) => statSync(join(...path)).mode & 0o777;

it('the first command creates the database with a password, on loopback only, and finds it again the next time', async () => {
  const directory = `${scratchDirectory()} "$HOME" 'a' \`b\``;
  const first = await acquireEmbeddedDatabase({ clock: systemClock, directory });
  await query(first.url, `create table kept as select '0.1000000000000000'::numeric as price`);
  const password = readFileSync(join(directory, 'password'), 'utf8');
  const wrong = first.url.replace(password, 'guess');
  await expect(query(wrong, 'select 1')).rejects.toThrow(/password authentication failed/);
  await expect(query(first.url.replace(`:${password}`, ''), 'select 1')).rejects.toThrow(/password/);
  expect(readFileSync(join(directory, 'url'), 'utf8')).toBe(`${first.url}\n`);
  const [settings] = await query(
    first.url,
    `select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
              current_setting('timezone') as zone, current_setting('server_encoding') as encoding`,
  );
  await first.release();
  expect(serverPid(directory)).toBeNull();
  expect(password).toMatch(/^[0-9a-f]{64}$/);
  expect(settings).toEqual({ addresses: '127.0.0.1', sockets: '', zone: 'UTC', encoding: 'UTF8' });
  expect(['password', 'url', 'postgres'].map((name) => modeOf(directory, name))).toEqual([0o600, 0o600, 0o700]);
  expect(modeOf(directory) & 0o067).toBe(0);

  const second = await acquireEmbeddedDatabase({ clock: systemClock, directory });
  const rows = await query(second.url, 'select price::text from kept');
  await second.release();
  expect(rows).toEqual([{ price: '0.1000000000000000' }]);
  expect(new URL(second.url).port).toBe(new URL(first.url).port);
});

describe('commands that share a database', () => {
  it('may all start at once in a directory that does not exist yet', async () => {
    const directory = scratchDirectory();
    const holders = [startHolder(directory), startHolder(directory), startHolder(directory)];
    const urls = await Promise.all(holders.map(urlHeldBy));
    expect(new Set(urls).size).toBe(1);
    expect(readdirSync(directory).sort()).toEqual(['password', 'postgres', 'postgres.log', 'url']);
    await Promise.all(holders.map(leave));
    expect(serverPid(directory)).toBeNull();
  });

  it('may start while the last one stops the server', async () => {
    const directory = scratchDirectory();
    const open = () => acquireEmbeddedDatabase({ clock: systemClock, directory });
    let held = await open();
    for (let round = 0; round < 5; round += 1) {
      const [next] = await Promise.all([open(), held.release()]);
      expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }]);
      held = next;
    }
    await Promise.all([held.release(), held.release()]);
    expect(serverPid(directory)).toBeNull();
  });
});
