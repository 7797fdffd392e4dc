/** Maps an IP address to the caller that a limit counts: all addresses that one customer holds are one caller. */

import { isIP } from 'node:net';

/**
 * Each IPv4 address is a caller, also when the socket reports it as IPv6. An IPv6 caller is a /64 network, because one
 * home connection owns a whole /64.
 *
 * @param address from the socket or a trusted proxy; some proxies append a port. All invalid addresses are one caller,
 * and so are the absent ones of clients that have left.
 */
export function addressCaller(address = ''): string {
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

/** The URL parser gives the canonical form: hexadecimal, with at most one run of zero groups as `::`. */
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
