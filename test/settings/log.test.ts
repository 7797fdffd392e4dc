import { describe, expect, it } from 'vitest';
import { withoutCredentials } from '../../redaction.ts';
import { createLog } from '../../settings/log.ts';

describe('withoutCredentials', () => {
  it.each([
    ['postgres://me:migrate@db/tidemark', 'postgres://me:[redacted]@db/tidemark'],
    ['postgres://me:p@ss:w"o,rd@db:5432/x?a=b', 'postgres://me:[redacted]@db:5432/x?a=b'],
    ['cannot reach redis://:x@redis:6379, nor x', 'cannot reach redis://:[redacted]@redis:6379, nor x'],
    ['rediss://user:p%40ss@h and http://k3y@h/v2', 'rediss://user:[redacted]@h and http://[redacted]@h/v2'],
    ['postgres://db/x?user=me&password=x&sslmode=on', 'postgres://db/x?user=me&password=[redacted]&sslmode=on'],
    ["host=db user=me password='a b' port=1", 'host=db user=me password=[redacted] port=1'],
    ['https://h/v2?apiKey=abc', 'https://h/v2?apiKey=[redacted]'],
    ['401 for Bearer sk-"odd', '401 for Bearer [redacted]"odd'],
    ['Authorization: Basic bWU6eA==, Accept: */*', 'Authorization: [redacted], Accept: */*'],
    [String.raw`{"apiKey":"a\"b","user":"me"}`, '{"apiKey":"[redacted]","user":"me"}'],
  ])('redacts the credential of %s', (text, clean) => {
    expect(withoutCredentials(text)).toBe(clean);
  });

  it.each([
    'the database holds no schema tidemark; run `tidemark migrate`',
    'relation "x" does not exist',
    'password authentication failed for user "me"',
    'postgres://me@db/x: connect ECONNREFUSED 127.0.0.1:5432',
    'the source wants a Bearer token; check the API key',
    'http://127.0.0.1:3000/v2 answers mail@example.com',
  ])('leaves alone: %s', (text) => {
    expect(withoutCredentials(text)).toBe(text);
  });
});

describe('createLog', () => {
  function logged(write: (log: ReturnType<typeof createLog>) => void) {
    const lines: string[] = [];
    write(createLog('info', { write: (line: string) => lines.push(line) }));
    return lines.map((line) => JSON.parse(line));
  }

  it('redacts named fields at any depth, and credentials in texts', () => {
    const [started, failed] = logged((log) => {
      log.info({ apiKey: 'sk', nested: { deep: { Password: 'x', name: 'x' } }, list: ['redis://:x@h'] }, 'start');
      log.error({ err: new Error('no answer of postgres://me:migrate@db/x: run migrate') }, 'failed: migrate');
    });
    expect(started).toMatchObject({
      level: 'info',
      apiKey: '[redacted]',
      msg: 'start',
      nested: { deep: { Password: '[redacted]', name: 'x' } },
      list: ['redis://:[redacted]@h'],
    });
    expect(failed).toMatchObject({
      err: { message: 'no answer of postgres://me:[redacted]@db/x: run migrate' },
      msg: 'failed: migrate',
    });
    expect(failed.err.stack).not.toContain(':migrate@');
  });

  it('redacts the fields of an error besides its message', () => {
    const command = { name: 'auth', args: ['default', 'hush'] };
    const [line] = logged((log) => log.warn({ err: Object.assign(new Error('WRONGPASS'), { command }) }));
    expect(line.err.command).toEqual({ name: 'auth', args: '[redacted]' });
    expect(JSON.stringify(line)).not.toContain('hush');
  });
});
