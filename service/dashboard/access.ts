/**
 * Who may see the dashboard. It tells an operator what fails and why, and gives points without a limit: neither is for
 * the clients of the service, which listens at the same address.
 *
 * With a password: whoever has it. Without one: who asks from this machine, for a name of this machine, and not
 * through a proxy.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { BlockList } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EpochMs } from '../../contract/intervals.ts';
import { Guesses } from '../admission/guesses.ts';
import { defaultGateways, isFromHere, isLoopbackName, ownAddresses } from './this-machine.ts';

export type Access =
  | {
      readonly kind: 'local';
      /** Addresses that are this machine too: a container sees what its own machine sends as its gateway's. */
      readonly alsoFrom: readonly string[];
    }
  | { readonly kind: 'password'; readonly password: string };

export interface AccessSettings {
  /** As given; undefined: as the address that is listened on allows. */
  readonly dashboard: 'on' | 'off' | 'container' | undefined;
  readonly password: string | undefined;
  readonly trustedProxies: number;
}

/**
 * A machine's gateway is a neighbour, who may pass on what others send. Only of a container it is known to be the
 * machine below: so it counts only where that is said.
 *
 * @returns null: there is no dashboard.
 */
export function accessOf(
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

/** Others may reach where it listens, and are kept out only by their address. */
export function isWithinReach(access: Access, host: string): boolean {
  return access.kind === 'local' && !isLoopbackName(host);
}

/** What a request is refused with; null: it is admitted. */
export interface Refusal {
  readonly status: 401 | 403 | 429;
  readonly message: string;
}

export class Gate {
  readonly #access: Access;
  readonly #own: BlockList;
  readonly #guesses: Guesses;

  constructor(access: Access, now: () => EpochMs) {
    this.#access = access;
    this.#own = ownAddresses(access.kind === 'local' ? access.alsoFrom : []);
    this.#guesses = new Guesses(now);
  }

  refusal({ headers, ip, socket }: FastifyRequest): Refusal | null {
    if (this.#access.kind === 'local')
      return isFromHere(headers, socket.remoteAddress, this.#own) ? null : notLocal;
    if (this.#guesses.areSpent(ip)) return tooMany;
    const given = passwordIn(headers.authorization);
    if (given !== null && isSame(given, this.#access.password)) return null;
    if (given !== null) this.#guesses.add(ip);
    return unknown;
  }
}

const notLocal: Refusal = {
  status: 403,
  message: 'the dashboard answers this machine only, by the name localhost, unless DASHBOARD_PASSWORD is set',
};
const tooMany: Refusal = { status: 429, message: 'too many wrong passwords, try again in a minute' };
const unknown: Refusal = { status: 401, message: 'the dashboard asks for its password' };

export function sendRefusal(reply: FastifyReply, { status, message }: Refusal): FastifyReply {
  if (status === 401) reply.header('www-authenticate', 'Basic realm="Tidemark", charset="UTF-8"');
  if (status === 429) reply.header('retry-after', 60);
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send(`${message}\n`);
}

/** The password of an Authorization header of the basic scheme; the name before it may be anything (RFC 7617). */
function passwordIn(header: string | undefined): string | null {
  const [, encoded] = /^Basic +([\w+/]+=*) *$/i.exec(header ?? '') ?? [];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  return pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : null;
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
