/**
 * Controls access to the dashboard. It shows errors and unlimited points, which are not for the clients of the service
 * on the same address.
 *
 * With a password, everyone who knows it has access. Without one, a request must come from this machine, address it by
 * a local name, and not pass a proxy.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { endianness } from 'node:os';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { minuteMs } from '../model/intervals.ts';
import { printable } from '../model/names.ts';
import { addressCaller } from '../service/admission/address.ts';
import { ServiceRefusal } from '../service/response.ts';

export type Access =
  | {
      readonly kind: 'local';
      /** Further addresses of this machine: a container sees its host's requests come from the gateway. */
      readonly alsoFrom: readonly string[];
    }
  | { readonly kind: 'password'; readonly password: string };

interface AccessSettings {
  /** As configured; undefined: on when the service listens on a loopback address only. */
  readonly dashboard: 'on' | 'off' | 'container' | undefined;
  readonly password: string | undefined;
  readonly trustedProxies: number;
}

/**
 * The gateway counts as local only in a container, where it is the host. Elsewhere it is another machine that may
 * forward requests of others.
 *
 * @returns null when the dashboard is off.
 */
export function dashboardAccess(
  { dashboard, password, trustedProxies }: AccessSettings,
  host: string,
  gateways: () => readonly string[] = defaultGateways,
): Access | null {
  if (dashboard === 'off') return null;
  if (password !== undefined) return { kind: 'password', password };
  const keepsToItself = isLoopbackName(host) && trustedProxies === 0;
  if (dashboard === undefined && !keepsToItself) return null;
  return { kind: 'local', alsoFrom: dashboard === 'container' ? gateways() : [] };
}

/** Whether other machines can reach the listener, so that only the address check keeps them out. */
export function isReachableByOthers(access: Access, host: string): boolean {
  return access.kind === 'local' && !isLoopbackName(host);
}

/** The response to a refused request. */
interface Refusal {
  readonly status: 401 | 403 | 429;
  readonly message: string;
}

/** @returns why a request is refused; null: it has access. */
export function accessGuard(access: Access, clock: Pick<Clock, 'now'>): (request: FastifyRequest) => Refusal | null {
  const own = ownAddresses(access.kind === 'local' ? access.alsoFrom : []);
  const guesses = loginThrottle(clock);
  return ({ headers, ip, socket }) => {
    if (access.kind === 'local') return isLocalRequest(headers, socket.remoteAddress, own) ? null : notLocal;
    if (guesses.isExceeded(ip)) return tooMany;
    const given = passwordIn(headers.authorization);
    if (given !== null && isSame(given, access.password)) return null;
    if (given !== null) guesses.add(ip);
    return unknown;
  };
}

const notLocal: Refusal = {
  status: 403,
  message: 'the dashboard is open to this machine only, at localhost, unless DASHBOARD_PASSWORD is set',
};
const tooMany: Refusal = { status: 429, message: 'too many wrong passwords, try again in a minute' };
const unknown: Refusal = { status: 401, message: 'the dashboard requires its password' };

/** @throws ServiceRefusal */
export function refuse(reply: FastifyReply, { status, message }: Refusal): never {
  if (status === 401) reply.header('www-authenticate', 'Basic realm="Tidemark", charset="UTF-8"');
  if (status === 429) reply.header('retry-after', 60);
  throw new ServiceRefusal(status, message);
}

/** The password of a basic Authorization header (RFC 7617). The user name gives no right. */
function passwordIn(header: string | undefined): string | null {
  const pair = pairIn(header);
  return pair?.includes(':') ? pair.slice(pair.indexOf(':') + 1) : null;
}

/** Longest part of a user name that is recorded. */
const maxUserName = 100;

/** The user name of a basic Authorization header; null: none, or an empty one. */
export function userIn(header: string | undefined): string | null {
  const [user = ''] = pairIn(header)?.split(':') ?? [];
  return user === '' ? null : printable(user).slice(0, maxUserName);
}

function pairIn(header: string | undefined): string | null {
  const [, encoded] = /^Basic +([\w+/]+=*) *$/i.exec(header ?? '') ?? [];
  return encoded === undefined ? null : Buffer.from(encoded, 'base64').toString('utf8');
}

/** Whether two secrets are equal, in constant time. */
export function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Each of these headers shows that the request passed a proxy. */
const proxyHeaders = [
  ...['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto'],
  ...['x-forwarded-server', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip'],
];

/** The loopback addresses and those given. */
function ownAddresses(more: readonly string[]): BlockList {
  const own = new BlockList();
  own.addSubnet('127.0.0.0', 8, 'ipv4');
  own.addAddress('::1', 'ipv6');
  for (const address of more) if (isIP(address) !== 0) own.addAddress(address, familyOf(address));
  return own;
}

/**
 * Whether a request comes from this machine and from a page of this service. The address check keeps out other
 * machines, which can send any host name. The name check keeps out sites whose own name resolves to this machine (DNS
 * rebinding). Browsers mark cross-site requests in `sec-fetch-site`.
 */
function isLocalRequest(headers: IncomingHttpHeaders, remoteAddress: string | undefined, own: BlockList): boolean {
  if (proxyHeaders.some((name) => headers[name] !== undefined)) return false;
  if (headers['sec-fetch-site'] === 'cross-site') return false;
  const [address = ''] = (remoteAddress ?? '').split('%');
  if (isIP(address) === 0 || !own.check(address, familyOf(address))) return false;
  return URL.canParse(`http://${headers.host}`) && isLoopbackName(new URL(`http://${headers.host}`).hostname);
}

function isLoopbackName(name: string): boolean {
  const bare = name.replace(/^\[|\]$/g, '').toLowerCase();
  return bare === 'localhost' || bare.endsWith('.localhost') || bare === '::1' || /^127(\.\d+){3}$/.test(bare);
}

/** The default gateways of Linux' routing table; none on other systems. */
function defaultGateways(): string[] {
  try {
    return gatewaysIn(readFileSync('/proc/net/route', 'utf8'));
  } catch {
    return [];
  }
}

/** @param routes content of /proc/net/route: hexadecimal addresses in the processor's byte order. */
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

const maxGuesses = 10;
const maxGuessers = 10_000;

/** Allows ten wrong passwords a minute for each caller, from its first one on. */
function loginThrottle(clock: Pick<Clock, 'now'>) {
  const guesses = new LRUCache<string, number>({
    ...{ max: maxGuessers, ttl: minuteMs, ttlResolution: 0, noUpdateTTL: true, perf: clock },
  });
  const made = (address: string) => guesses.get(addressCaller(address)) ?? 0;
  return {
    /** Check this before the password: otherwise guessing would still work, only without responses. */
    isExceeded: (address: string) => made(address) >= maxGuesses,
    add: (address: string) => void guesses.set(addressCaller(address), made(address) + 1),
  };
}
