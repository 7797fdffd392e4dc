/** What is told, in words and in the form of each kind of target. */

import { createHmac } from 'node:crypto';
import { formatDuration, formatTime, isoTime, wholeSecond } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import { printable } from '../model/names.ts';
import { conditionsWithBeginning } from '../planning/conditions.ts';
import { withoutCredentials } from '../redaction.ts';
import type { NotifyEntry } from '../watch-list/watch-list.ts';
import type { Event, Said } from './rules.ts';

export interface Message {
  readonly event: Event;
  readonly headline: Said;
  /** Since when it holds. Of a recovery: since when the trouble had lasted. */
  readonly sinceMs: EpochMs;
  readonly atMs: EpochMs;
  /** What a recovery or a change ends; null: nothing. */
  readonly before: string | null;
  /** Names of this machine and of the store. */
  readonly host: string;
  readonly store: string;
  readonly link: string | null;
}

/** Names for a template, and the fields of the document. */
function fieldsOf({ event, headline, sinceMs, atMs, before, host, store, link }: Message) {
  return {
    event,
    level: headline.level,
    condition: headline.kind as string,
    source: headline.source,
    headline: shownText(headline.text),
    before: before === null ? null : shownText(before),
    since: isoTime(sinceMs),
    time: isoTime(atMs),
    command: headline.command,
    link,
    host,
    store,
  };
}

type Fields = ReturnType<typeof fieldsOf>;

/** Messages of Discord have at most 2,000 characters. */
const longestText = 800;

/** A headline may quote a source. */
export function shownText(text: string): string {
  const clean = withoutCredentials(printable(text));
  return clean.length > longestText ? `${clean.slice(0, longestText)}...` : clean;
}

export const sampleFields: Fields = {
  event: 'test',
  level: 'ok',
  condition: 'healthy',
  source: null,
  headline: 'up to date',
  before: null,
  since: '2024-01-31T00:00:00.000Z',
  time: '2024-01-31T00:00:00.000Z',
  command: null,
  link: null,
  host: 'host',
  store: 'store',
};

/** The template with the fields, escaped as text within JSON. An empty one has no value, and another name stays. */
export function filled(template: string, fields: Fields): string {
  return template.replace(/\{([a-z]+)\}/g, (all, name: string) =>
    name in fields ? JSON.stringify(fields[name as keyof Fields] ?? '').slice(1, -1) : all,
  );
}

const firstWords: Readonly<Record<Event, string>> = {
  trouble: 'Trouble',
  change: 'Changed',
  reminder: 'Still',
  recovery: 'Recovered',
  test: 'Test',
};

export function titleOf({ event, store }: Message): string {
  return `Tidemark ${event}: ${printable(store)}`;
}

/** Some lines for people. */
export function linesOf(message: Message): string[] {
  const { event, headline, sinceMs, atMs, before, host, store, link } = message;
  const now = shownText(headline.text);
  const lasted = formatDuration(Math.max(1000, atMs - sinceMs));
  const was = before === null ? '' : shownText(before);
  const first =
    event === 'recovery'
      ? `${firstWords[event]} after ${lasted}: ${was}`
      : event === 'test'
        ? `${firstWords[event]}: this target is told when the headline changes`
        : `${firstWords[event]}: ${now}`;
  return [
    first,
    ...(event === 'recovery' || event === 'test'
      ? [`Now: ${now}`]
      : conditionsWithBeginning.has(headline.kind)
        ? []
        : [`Since ${timeOf(sinceMs)}, ${lasted} ago`]),
    ...(event === 'change' && was !== '' ? [`Before: ${was}`] : []),
    ...(headline.command === null || event === 'recovery' ? [] : [`See: ${headline.command}`]),
    `Store: ${printable(store)}, told by ${printable(host)}`,
    ...(link === null ? [] : [link]),
  ];
}

function timeOf(timeMs: EpochMs): string {
  return formatTime(wholeSecond(timeMs));
}

interface HttpBody {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const json = (body: unknown): HttpBody => ({
  body: typeof body === 'string' ? body : JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

/** The request of a target that is told by HTTP. */
export function bodyFor({ kind, template }: NotifyEntry, message: Message, secret: string | null): HttpBody {
  const text = linesOf(message).join('\n');
  switch (kind) {
    case 'slack':
      return json({ text: text.replace(/[&<>]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[one] ?? one) });
    case 'discord':
      // Nobody is mentioned by what a source says.
      return json({ content: text, allowed_mentions: { parse: [] } });
    case 'ntfy':
      return { body: text, headers: ntfyHeaders(message, secret) };
    default: {
      const fields = fieldsOf(message);
      const { body, headers } = json(template === null ? fields : filled(template, fields));
      if (secret === null) return { body, headers };
      return { body, headers: { ...headers, 'x-tidemark-signature': signatureOf(body, secret, message.atMs) } };
    }
  }
}

/** `t=SECONDS,v1=HEX`: HMAC-SHA256 of the time, a dot and the body. The time guards against a repetition. */
function signatureOf(body: string, secret: string, atMs: EpochMs): string {
  const seconds = Math.floor(atMs / 1000);
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/** Priorities of ntfy are 1 to 5, and 3 is its default. Its tags are names of emojis. */
function ntfyHeaders(message: Message, token: string | null): HttpBody['headers'] {
  const { event, headline, link } = message;
  const isTrouble = event !== 'recovery' && event !== 'test';
  const tag =
    event === 'test'
      ? 'test_tube'
      : event === 'recovery'
        ? 'white_check_mark'
        : headline.level === 'bad'
          ? 'rotating_light'
          : 'warning';
  return {
    'content-type': 'text/plain; charset=utf-8',
    title: encodedWord(titleOf(message)),
    priority: isTrouble && headline.level === 'bad' ? '4' : '3',
    tags: tag,
    ...(link === null ? {} : { click: new URL(link).href }),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
}

/** A header holds ASCII alone (RFC 2047). */
function encodedWord(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`;
}
