/** An address as a caller: what one customer can hold many of counts as one. */

import { isIP } from 'node:net';

/**
 * IPv4 addresses count each by itself, also where a socket shows them as IPv6. Of IPv6 the first 64 bits count: a
 * single connection at home has all the rest to itself.
 *
 * @param address as the socket, or a trusted proxy, gives it. Anything that is no address counts as one caller.
 */
export function addressCaller(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return `address ${mapped}`;
  const [plain = ''] = address.split('%');
  switch (isIP(plain)) {
    case 4:
      return `address ${plain}`;
    case 6:
      return `address ${network(plain)}/64`;
    default:
      return 'address unknown';
  }
}

/** The first four groups of an IPv6 address, written the shortest way. */
function network(address: string): string {
  // The parser of URLs writes every address in one way, with at most one run of zero groups as `::`.
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = written.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : new Array(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
