import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answering, failureAt, failureOf } from './failure-at.ts';
import { portOf, sourceAt } from './local-server.ts';

describe('an answer of another shape', () => {
  test.each([
    ['HTML', '<!doctype html><html>sorry</html>', 'HTML instead of JSON'],
    ['truncated JSON', '{"data":[{"id":"bitcoin","ra', 'not JSON'],
    ['nothing', '', 'an empty body'],
    ['a number', '1', 'no list'],
    ['null', 'null', 'no list'],
    ['data that is no list', '{"data":{"id":"bitcoin"}}', 'no list'],
    ['an error in a 200', '{"error":"internal"}', 'internal'],
    ['an empty list with an error', '{"data":[],"error":"rate limit exceeded","timestamp":1}', 'rate limit'],
    ['an empty list beside an error with a code', '{"data":[],"error":{"code":1,"message":"busy"}}', 'busy'],
  ])('%s', async (_, body, words) => {
    const error = await failureAt(answering(200, body));
    expect(error).toMatchObject({ kind: 'unexpected', status: 200, bytes: Buffer.byteLength(body) });
    expect(error.message).toMatch(/^GET \/rates: status 200: /);
    expect(error.message).toContain(words);
  });

  test.each([200, 404, 429])('a service message with status %i is no rate limit', async (status) => {
    const error = await failureAt(
      answering(status, '{"data":{"message":"We are deprecating this version"},"timestamp":1}'),
    );
    expect(error).toMatchObject({ kind: 'notice', status, retryAtMs: null });
    expect(error.message).toContain('We are deprecating this version');
  });

  test('bytes that are not UTF-8', async () => {
    const error = await failureAt((_, response) => void response.end(Buffer.from('{"data":["króna"]}', 'latin1')));
    expect(error).toMatchObject({ kind: 'unexpected', message: 'GET /rates: status 200: not UTF-8' });
  });

  test('a server that does not use HTTP', async () => {
    const server = createServer((socket) => socket.end('-ERR unknown command\r\n')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const error = await failureOf(sourceAt(`http://127.0.0.1:${portOf(server.address())}/v2`));
    expect(error).toMatchObject({ kind: 'unexpected', status: null });
  });
});
