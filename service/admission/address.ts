/** An address as a caller: what one customer can hold many of counts as one. */

import { isIP } from 'node:net';

/**
 * IPv4 addresses count each by itself, also where a socket shows them as IPv6. Of IPv6 the first 64 bits count: a
 * single connection at home has all the rest to itself.
 *
 * @param address as the socket, or a trusted proxy, gives it, some of which add a port. Anything that is no address
 *   counts as one caller.
 */
export function addressCaller(address: string): string {
  const alone = /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
  const [plain = ''] = alone.split('%');
  switch (isIP(plain)) {
    case 4:
      return `address ${plain}`;
    case 6: {
      const written = canonical(plain);
      return `address ${mappedIpv4(written) ?? `${network(written)}/64`}`;
    }
    default:
      return 'address unknown';
  }
}

/** The parser of URLs writes every address in one way: in hexadecimal, with at most one run of zero groups as `::`. */
function canonical(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function mappedIpv4(written: string): string | null {
  const groups = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(written);
  if (groups === null) return null;
  return groups
    .slice(1)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((bits) => [bits >> 8, bits & 255])
    .join('.');
}

/** The first four groups of an IPv6 address. */
function network(written: string): string {
  const [head = '', tail] = written.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : new Array(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
