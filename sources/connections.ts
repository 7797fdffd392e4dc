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

/** Its connections leave out answers before the final one. */
function openPool(origin: URL | string, options: Pool.Options & { readonly connect: buildConnector.connector }): Pool {
  const connect: buildConnector.connector = (to, callback) =>
    // Without a socket there is one argument.
    options.connect(to, (...[error, socket]) =>
      error === null ? callback(null, withoutInterim(socket)) : callback(error, null),
    );
  return new Pool(origin, { ...options, connect });
}

/** Answers such as `100 Continue` need no request for them (RFC 9110, 15.2). undici takes 100 for an error. */
const interim = /^(?:HTTP\/1\.1 1(?!01)\d\d[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n)*/;
const longestHead = 16 * 1024;
const nothing = Buffer.alloc(0);

/** Whether more bytes may make it one. */
function mayBecomeInterim(text: string): boolean {
  const begins = text.startsWith('HTTP/1.1 1') || 'HTTP/1.1 1'.startsWith(text);
  return begins && !text.startsWith('101', 9) && !text.includes('\r\n\r\n') && text.length < longestHead;
}

/** A request is one `write`, and has been answered before the next one. */
function withoutInterim(socket: Socket): Socket {
  const write = socket.write.bind(socket);
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  /** The beginning of an answer, until it is known whether it is the final one. Null: it is. */
  let held: Buffer | null = null;
  socket.write = ((...given: Parameters<Socket['write']>) => {
    held = nothing;
    return write(...given);
  }) as Socket['write'];
  socket.read = (size) => {
    const chunk = read(size);
    if (chunk === null || held === null) return chunk;
    const all = Buffer.concat([held, chunk]);
    const text = all.toString('latin1');
    const [{ length }] = interim.exec(text) ?? [''];
    const isHeld = mayBecomeInterim(text.slice(length));
    held = isHeld ? all.subarray(length) : null;
    return isHeld ? nothing : all.subarray(length);
  };
  return socket;
}
