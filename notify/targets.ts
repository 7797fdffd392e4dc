/** The targets of `notify`, with the secrets that their entries name. */

import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import type { NotifyEntry } from '../watch-list/watch-list.ts';
import { filled, sampleFields } from './message.ts';

export interface Target {
  readonly entry: NotifyEntry;
  readonly url: URL;
  readonly secret: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @returns why it cannot be told: never with a value of the environment or the file. */
export function targetOf(entry: NotifyEntry, environment: Environment = process.env): Target | { problem: string } {
  const address = readValue(entry.address, environment);
  if (typeof address === 'object') return address;
  if (!URL.canParse(address)) return { problem: 'its address cannot be read' };
  const url = new URL(address);
  const schemes = entry.kind === 'mail' ? ['smtps:', 'smtp:'] : ['https:', 'http:'];
  if (!schemes.includes(url.protocol) || url.hostname === '')
    return { problem: `its address must begin with ${schemes.map((one) => `${one}//`).join(' or ')}` };
  if (url.protocol === 'http:' && !isPrivate(url.hostname))
    return { problem: 'its address must begin with https://: only a private network may have http://' };
  if (entry.kind === 'ntfy' && url.pathname.length < 2) return { problem: 'its address has no topic' };
  if (entry.template !== null && !isJson(filled(entry.template, sampleFields)))
    return { problem: 'its template is not JSON: texts belong in quotes, such as "{headline}"' };
  const secret = entry.secret === null ? null : readValue(entry.secret, environment);
  return typeof secret === 'object' && secret !== null ? secret : { entry, url, secret };
}

/** The address without what may be a secret: scheme and host. */
export function shownAddress(target: Target | { problem: string }): string | null {
  return 'problem' in target ? null : `${target.url.protocol}//${target.url.host}`;
}

/** `$NAME` stands for the variable, and a path for the content of the file: neither is in the watch list. */
function readValue(text: string, environment: Environment): string | { problem: string } {
  if (text.startsWith('/')) return textOf(text) || { problem: `${text} is empty or cannot be read` };
  const [, name] = /^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$/.exec(text) ?? [];
  return name === undefined ? text : environment[name] || { problem: `${name} is not set` };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    // The caller reports it.
    return '';
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const privateRanges = new BlockList();
for (const [net, prefix] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  privateRanges.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of [
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  privateRanges.addSubnet(net, prefix, 'ipv6');

/** Whether a host is on this machine or in a private network; a name without a dot is one of Docker or Kubernetes. */
export function isPrivate(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  const version = isIP(host);
  if (version !== 0) return privateRanges.check(host, version === 4 ? 'ipv4' : 'ipv6');
  return !host.includes('.') || /\.(?:localhost|local|internal|lan|home\.arpa)$/.test(host);
}
