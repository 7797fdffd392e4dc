import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { failureAt } from './failure-at.ts';

describe('size', () => {
  test('a body of 200 MB is not read to its end', async () => {
    const whole = 200 * 1024 * 1024;
    let sent = 0;
    const error = await failureAt((_, response) => {
      const chunk = Buffer.alloc(65_536, ' ');
      response.on('error', () => {});
      const more = () => {
        if (response.destroyed || sent >= whole) return;
        sent += chunk.length;
        response.write(chunk, more);
      };
      more();
    });
    expect(error).toMatchObject({
      kind: 'too_large',
      status: 200,
      message: 'GET /rates: body is larger than 1000000 bytes',
    });
    expect(sent).toBeLessThan(whole / 4);
  });

  test('a decompression bomb is not decompressed completely', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024));
    const error = await failureAt(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    expect(error).toMatchObject({ kind: 'too_large', bytes: 1_000_000 });
  });

  test.each([
    ['broken gzip', 'gzip', Buffer.from('{"data":[]}'), 'compression of the body is broken'],
    ['truncated gzip', 'gzip', gzipSync('{"data":[]}').subarray(0, 15), 'compression of the body is broken'],
    ['deflate', 'deflate', Buffer.from('{"data":[]}'), 'content encoding deflate was not asked for'],
  ])('%s', async (_, encoding, body, words) => {
    const error = await failureAt(
      (_request, response) => void response.writeHead(200, { 'content-encoding': encoding }).end(body),
    );
    expect(error).toMatchObject({ kind: 'unexpected', message: `GET /rates: ${words}` });
  });
});
