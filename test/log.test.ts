import { describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { createLog, secretsOf } from '../log.ts';

describe('createLog', () => {
  it('hides keys and passwords wherever they occur', () => {
    const config = readConfig({
      SOURCE_API_KEY: 'sk-very-secret',
      DATABASE_URL: 'postgres://me:p%40ssword@db/x',
      REDIS_URL: 'redis://:hushhush@redis:6379',
    });
    const lines: string[] = [];
    const log = createLog('info', secretsOf(config), { write: (line: string) => lines.push(line) });
    log.info({ apiKey: 'sk-very-secret', nested: { password: 'p@ssword' } }, 'start');
    log.error({ err: new Error(`401 for Bearer sk-very-secret at ${config.database.url}`) }, 'failed');
    log.warn(`cannot reach ${config.queue.redisUrl}, nor postgres://u:other@h/d`);
    const text = lines.join('');
    expect(lines).toHaveLength(3);
    for (const secret of ['sk-very-secret', 'p@ssword', 'p%40ssword', 'hushhush', 'other@']) {
      expect(text).not.toContain(secret);
    }
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('level');
  });

  it('hides them in every form in which they are written', () => {
    const key = String.raw`sk-"quoted"\and\back`;
    const password = 'a"b c/d+e';
    const config = readConfig({
      SOURCE_API_KEY: key,
      DATABASE_URL: 'postgres://me:a"b%20c%2fd+e@db/x',
    });
    const lines: string[] = [];
    const log = createLog('info', secretsOf(config), { write: (line: string) => lines.push(line) });
    const quoted = JSON.stringify({ key });
    log.info({ key, quoted, password, encoded: encodeURIComponent(password) }, `sent ${key}`);
    log.info({ words: ['password is a"b%20c%2fd+e', `a%22b%20c%2fd+e`] });
    const [first, second] = lines.map((line) => JSON.parse(line));
    expect(first).toMatchObject({
      key: '[redacted]',
      quoted: '{"key":"[redacted]"}',
      password: '[redacted]',
      encoded: '[redacted]',
      msg: 'sent [redacted]',
    });
    expect(second.words).toEqual(['password is [redacted]', '[redacted]']);
  });
});
