/** Whether a request comes from this machine itself, for a page of its own. */

import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { endianness } from 'node:os';

/** Any of them shows that a proxy passed the request on. */
const forwarding = [
  ...['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto'],
  ...['x-forwarded-server', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip'],
];

/** Addresses of this machine: its loopback, and those given. */
export function ownAddresses(more: readonly string[]): BlockList {
  const own = new BlockList();
  own.addSubnet('127.0.0.0', 8, 'ipv4');
  own.addAddress('::1', 'ipv6');
  for (const address of more) if (isIP(address) !== 0) own.addAddress(address, familyOf(address));
  return own;
}

/**
 * Anyone may write any name of a host, and so may a page of another site that has its own name lead here: the address
 * keeps out the one, the name the other. A browser says itself when another site's page asks.
 */
export function isFromHere(
  headers: IncomingHttpHeaders,
  remoteAddress: string | undefined,
  own: BlockList,
): boolean {
  if (forwarding.some((name) => headers[name] !== undefined)) return false;
  if (headers['sec-fetch-site'] === 'cross-site') return false;
  const [address = ''] = (remoteAddress ?? '').split('%');
  if (isIP(address) === 0 || !own.check(address, familyOf(address))) return false;
  return URL.canParse(`http://${headers.host}`) && isLoopbackName(new URL(`http://${headers.host}`).hostname);
}

export function isLoopbackName(name: string): boolean {
  const bare = name.replace(/^\[|\]$/g, '').toLowerCase();
  return (
    bare === 'localhost' || bare.endsWith('.localhost') || bare === '::1' || /^127(\.\d+){3}$/.test(bare)
  );
}

/** Where this machine sends what is for nobody near, by Linux' table of routes; none where there is no such table. */
export function defaultGateways(): string[] {
  try {
    return gatewaysIn(readFileSync('/proc/net/route', 'utf8'));
  } catch {
    return [];
  }
}

/** @param routes as /proc/net/route has them: addresses in hexadecimal, each as a number of the processor's own order. */
export function gatewaysIn(routes: string, order: 'BE' | 'LE' = endianness()): string[] {
  const nowhere = '00000000';
  return routes.split('\n').flatMap((line) => {
    const [, destination, gateway = '', , , , , mask] = line.trim().split(/\s+/);
    if (destination !== nowhere || mask !== nowhere || !/^[\dA-F]{8}$/i.test(gateway)) return [];
    const bytes = [...Buffer.from(gateway, 'hex')];
    return gateway === nowhere ? [] : [(order === 'LE' ? bytes.reverse() : bytes).join('.')];
  });
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
