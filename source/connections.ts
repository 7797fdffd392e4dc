/** The connections to a source: straight, or through the proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name. */

import type { Socket } from 'node:net';
import { getProxyForUrl } from 'proxy-from-env';
import { buildConnector, Pool, ProxyAgent } from 'undici';
import { TidemarkError } from '../errors.ts';

/** Such as the simulator and `tidemark serve`: no proxy can reach what is on this machine alone. */
const ofThisMachine = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The proxy for an address, as the environment says; null: none. It may hold a password. */
export function proxyFor(url: string): string | null {
  const proxy = ofThisMachine.test(new URL(url).hostname) ? '' : getProxyForUrl(url);
  return proxy === '' ? null : proxy;
}

/**
 * @param origin of the source, without a path.
 * @throws TidemarkError BAD_CONFIGURATION when the proxy's address cannot be used.
 */
export function openConnections(
  origin: string,
  { connections, timeoutMs }: { readonly connections: number; readonly timeoutMs: number },
): Pool | ProxyAgent {
  // attempt.ts applies the only timeout.
  const options = { connections, headersTimeout: 0, bodyTimeout: 0 };
  const connect = { timeout: timeoutMs };
  const proxy = proxyFor(origin);
  if (proxy === null) return openPool(origin, { ...options, connect: buildConnector(connect) });
  try {
    // Proxies of companies let HTTPS alone through a tunnel.
    return new ProxyAgent({
      ...options,
      uri: proxy,
      proxyTunnel: false,
      proxyTls: connect,
      requestTls: connect,
      factory: (to, given) => openPool(to, given as typeof given & { connect: buildConnector.connector }),
    });
  } catch (error) {
    // The address may hold a password.
    throw new TidemarkError('BAD_CONFIGURATION', 'the address of the proxy cannot be used', {
      cause: error,
      remedy: 'check HTTPS_PROXY and HTTP_PROXY: http://host:port',
    });
  }
}

/** An answer before the final one, such as `100 Continue`, needs no request for it (RFC 9110, 15.2). undici takes 100 for an error. */
const interim = /^(?:HTTP\/1\.1 1(?!01)\d\d[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n)+/;
const longestHead = 16 * 1024;

/** Its connections leave out interim answers. */
function openPool(
  origin: URL | string,
  options: Pool.Options & { readonly connect: buildConnector.connector },
): Pool {
  const connect: buildConnector.connector = (to, callback) =>
    options.connect(to, (...[error, socket]) => {
      // Without a socket there is one argument.
      if (error !== null) return callback(error, null);
      const read = socket.read.bind(socket) as Socket['read'];
      socket.read = (size) => withoutInterim(read(size));
      callback(null, socket);
    });
  return new Pool(origin, { ...options, connect });
}

function withoutInterim(chunk: Buffer | null): Buffer | null {
  const [head] = chunk === null ? [] : (interim.exec(chunk.toString('latin1', 0, longestHead)) ?? []);
  return chunk === null || head === undefined ? chunk : chunk.subarray(head.length);
}
