/** The connections to a source: straight, or through the proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name. */

import { getProxyForUrl } from 'proxy-from-env';
import { Pool, ProxyAgent } from 'undici';
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
  const options = { connections, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: timeoutMs } };
  const proxy = proxyFor(origin);
  if (proxy === null) return new Pool(origin, options);
  try {
    const { connect, ...others } = options;
    // Proxies of companies let HTTPS alone through a tunnel.
    return new ProxyAgent({
      ...others,
      uri: proxy,
      proxyTunnel: false,
      proxyTls: connect,
      requestTls: connect,
    });
  } catch (error) {
    // The address may hold a password.
    throw new TidemarkError('BAD_CONFIGURATION', 'the address of the proxy cannot be used', {
      cause: error,
      remedy: 'check HTTPS_PROXY and HTTP_PROXY: http://host:port',
    });
  }
}
