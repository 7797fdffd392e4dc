import { describe, expect, test } from 'vitest';
import { serve, serveBody, sourceAt } from './local-server.ts';

describe('a request', () => {
  test('sends the key, accepts gzip only, and names its user agent', async () => {
    const server = await serveBody({ data: [] });
    await sourceAt(server.baseUrl, { apiKey: 'sesame', userAgent: 'tidemark/1.2.3' }).list('rates');
    await sourceAt(server.baseUrl).list('rates');
    const [withKey, without] = server.requests.map((request) => request.headers);
    expect(withKey).toMatchObject({
      authorization: 'Bearer sesame',
      'accept-encoding': 'gzip',
      'user-agent': 'tidemark/1.2.3',
    });
    expect(without).not.toHaveProperty('authorization');
  });

  test('uses a kept-alive connection', async () => {
    const ports = new Set<number | undefined>();
    const server = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      response.end('{"data":[]}');
    });
    const source = sourceAt(server.baseUrl, { connections: 1 });
    for (let call = 0; call < 5; call += 1) await source.list('rates');
    expect(ports.size).toBe(1);
  });

  test.each(['', 'not an address', 'ftp://127.0.0.1/v2', '127.0.0.1/v2'])('rejects the base URL %j', (baseUrl) => {
    expect(() => sourceAt(baseUrl)).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIGURATION', message: expect.stringContaining(JSON.stringify(baseUrl)) }),
    );
  });

  test('a key that no header can carry is rejected, and not shown', () => {
    expect(() => sourceAt('http://127.0.0.1/v2', { apiKey: 'secret\n' })).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIGURATION', message: expect.not.stringContaining('secret') }),
    );
  });
});
