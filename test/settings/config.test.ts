import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { misspelledVariables, readConfig, removedOnes } from '../../settings/config.ts';
import { environment, removedVariables, secretVariables } from '../../settings/environment.ts';
import { emptyDirectory } from '../scripts/command.ts';

const refusal = (env: Record<string, string>) => {
  try {
    readConfig(env);
  } catch (error) {
    return String(error);
  }
  return 'accepted';
};

describe('readConfig', () => {
  it('uses the default budgets of the interface: 200 a minute, 500 with a key', () => {
    expect(readConfig({}).source.requestsPerMinute).toBe(200);
    expect(readConfig({ SOURCE_API_KEY: 'k' }).source.requestsPerMinute).toBe(500);
    expect(readConfig({ SOURCE_API_KEY: 'k', SOURCE_REQUESTS_PER_MINUTE: '60' }).source.requestsPerMinute).toBe(60);
    expect(readConfig({ SOURCE_REQUESTS_PER_MINUTE: '0' }).source.requestsPerMinute).toBe(0);
  });

  it('treats an empty variable as absent, as docker compose passes it', () => {
    expect(readConfig({ SOURCE_API_KEY: '', REDIS_URL: '' })).toEqual(readConfig({}));
  });

  it('accepts a source address with a trailing slash', () => {
    expect(readConfig({ SOURCE_URL: 'https://x.example/api/v2/' }).source.url).toBe('https://x.example/api/v2');
  });

  it.each([
    ['SOURCE_URL', 'x.example/v2'],
    ['SOURCE_URL', 'ftp://x.example/v2'],
    ['SOURCE_URL', 'https://x.example/v3'],
    ['SOURCE_REQUESTS_PER_MINUTE', '-1'],
    ['SOURCE_REQUESTS_PER_MINUTE', '1e3'],
    ['DATABASE_URL', 'mysql://x/y'],
    ['REDIS_URL', 'localhost:6379'],
    ['REDIS_URL', 'redis://localhost/first'],
    ['QUEUE_NAMESPACE', 'No Spaces'],
    ['WORKER_CONCURRENCY', '0'],
    ['LOG_LEVEL', 'loud'],
    ['DASHBOARD', 'maybe'],
  ])('refuses %s=%s by name and value', (name, value) => {
    const message = refusal({ [name]: value });
    expect(message).toContain(name);
    expect(message).toContain(JSON.stringify(value));
  });

  it.each(['user:sekret@x.example/v2', ':sekret@x.example/v2', 'x.example/v2?key=sekret'])(
    'refuses a source address with a credential, and does not show it: %s',
    (rest) => {
      expect(refusal({ SOURCE_URL: `https://${rest}` })).toContain('must not hold a name, a password');
      expect(refusal({ SOURCE_URL: `https://${rest}` })).not.toContain('sekret');
    },
  );

  it('does not show an invalid secret', () => {
    expect(refusal({ SOURCE_API_KEY: 'two words' })).toContain('SOURCE_API_KEY');
    expect(refusal({ SOURCE_API_KEY: 'two words' })).not.toContain('two words');
    expect(refusal({ DATABASE_URL: 'mysql://me:hush@x/y' })).not.toContain('hush');
    expect(refusal({ DASHBOARD_PASSWORD: 'too short' })).toContain('DASHBOARD_PASSWORD');
    expect(refusal({ DASHBOARD_PASSWORD: 'too short' })).not.toContain('too short');
  });
});

it('reads a secret from a file, and refuses one that cannot be read or is given twice', () => {
  const file = join(emptyDirectory(), 'secret');
  for (const name of secretVariables) {
    const value = name.endsWith('_URL')
      ? name === 'REDIS_URL'
        ? 'redis://:s@h'
        : 'postgres://u:s@h/d'
      : 'sekret-sekret';
    writeFileSync(file, `${value}\n`);
    const address = name.replace('_PASSWORD', '_URL');
    const isPart = address !== name && address in environment.shape;
    const beside = isPart ? { [address]: address === 'REDIS_URL' ? 'redis://h' : 'postgres://u@h/d' } : {};
    const read = readConfig({ ...beside, [`${name}_FILE`]: file });
    expect(read).toEqual(readConfig({ ...beside, [name]: value }));
    expect(read).not.toEqual(readConfig(beside));
    expect(refusal({ [`${name}_FILE`]: file, [name]: value })).toContain(`${name} and ${name}_FILE are set`);
    expect(refusal({ [`${name}_FILE`]: '/nowhere' })).toContain(
      `${name}_FILE is /nowhere, which cannot be read: ENOENT`,
    );
    writeFileSync(file, '\n');
    expect(readConfig({ [`${name}_FILE`]: file })).toEqual(readConfig({}));
    writeFileSync(file, 'two words\u0007');
    expect(refusal({ [`${name}_FILE`]: file })).not.toContain('two words');
  }
});

it('puts a password into an address that has none', () => {
  const password = "it's/a:password@ %41";
  const { database, service, queue } = readConfig({
    ...{ DATABASE_URL: 'postgres://u@h:1/d?sslmode=require', DATABASE_PASSWORD: password },
    ...{ DASHBOARD_DATABASE_URL: 'postgresql://w@h/d', DASHBOARD_DATABASE_PASSWORD: password },
    ...{ SERVE_DATABASE_URL: 'postgres://r@h/d', SERVE_DATABASE_PASSWORD: password },
    ...{ REDIS_URL: 'redis://h:2/3', REDIS_PASSWORD: password },
  });
  const addresses = [database.url, service.actionsUrl, service.databaseUrl, queue.redisUrl].map(
    (address) => new URL(address ?? ''),
  );
  for (const address of addresses) expect(decodeURIComponent(address.password)).toBe(password);
  expect(addresses.map(({ username, host, pathname, search }) => [username, host, pathname, search])).toEqual([
    ['u', 'h:1', '/d', '?sslmode=require'],
    ['w', 'h', '/d', ''],
    ['r', 'h', '/d', ''],
    ['', 'h:2', '/3', ''],
  ]);
  expect(refusal({ DATABASE_PASSWORD: 'hush' })).toContain('DATABASE_PASSWORD is set, and DATABASE_URL is not');
  const twice = refusal({ REDIS_URL: 'redis://:own@h', REDIS_PASSWORD: 'hush' });
  expect(twice).toContain('REDIS_URL has a password, and REDIS_PASSWORD is set');
});

it.each(Object.entries(removedVariables))(
  'names a removed variable that is set, and what holds in its place: %s',
  (name, instead) => {
    expect(environment.shape).not.toHaveProperty(name);
    expect(removedOnes({ [name]: '1', SOURCE_URL: 'x' })).toEqual([{ name, instead }]);
    expect(removedOnes({ [name]: '' })).toEqual([]);
    expect(misspelledVariables({ [name]: '1' })).toEqual([]);
  },
);

it('names set variables that resemble one of ours', () => {
  const env = { SOURCE_REQUEST_PER_MINUTE: '500', SOURCE_URL: 'x', HOME: '/', DATABSE_URL: 'y', DATABASE_HOST: 'z' };
  expect(misspelledVariables(env)).toEqual([
    { name: 'SOURCE_REQUEST_PER_MINUTE', meant: 'SOURCE_REQUESTS_PER_MINUTE' },
    { name: 'DATABSE_URL', meant: 'DATABASE_URL' },
  ]);
});
