/** Sends one message to one target, once. What goes wrong is told in fixed words: an answer may repeat a secret. */

import { type Clock, unlessStopped } from '../clock.ts';
import { codeOf, firstError } from '../errors.ts';
import { openConnections } from '../sources/connections.ts';
import { retryAfter } from '../sources/error-response.ts';
import { version } from '../version.ts';
import { bodyFor, linesOf, type Message, titleOf } from './message.ts';
import { isPrivate, type Target } from './targets.ts';

export type Sent =
  | { readonly kind: 'sent' }
  | {
      readonly kind: 'failed';
      readonly cause: string;
      /** Whether it may be sent at another time; else only to another address. */
      readonly isTransient: boolean;
      /** What the target asks for; 0: nothing. */
      readonly retryAfterMs: number;
    };

interface Sending {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Of the whole attempt. */
  readonly timeoutMs?: number | undefined;
}

const defaultTimeoutMs = 15_000;

const failed = (cause: string, isTransient = true, retryAfterMs = 0): Sent => ({
  ...{ kind: 'failed', cause, isTransient, retryAfterMs },
});

/** Never throws. */
export async function send(target: Target, message: Message, sending: Sending): Promise<Sent> {
  const { clock, timeoutMs = defaultTimeoutMs, signal } = sending;
  const deadline = new AbortController();
  const timer = clock.after(timeoutMs, () => deadline.abort());
  const stop = signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]);
  try {
    return await (target.entry.kind === 'mail' ? sendMail : sendHttp)(target, message, stop, clock);
  } catch (error) {
    if (deadline.signal.aborted) return failed(`no answer within ${Math.round(timeoutMs / 1000)} s`);
    const code = codeOf(firstError(error));
    return failed(typeof code === 'string' ? `cannot be reached: ${code}` : 'cannot be reached');
  } finally {
    timer.stop();
  }
}

async function sendHttp({ entry, url, secret }: Target, message: Message, signal: AbortSignal, clock: Clock) {
  const { body, headers } = bodyFor(entry, message, secret);
  const connections = openConnections(url.origin, { connections: 1, timeoutMs: defaultTimeoutMs });
  try {
    const response = await connections.request({
      ...{ method: 'POST', origin: url.origin, path: `${url.pathname}${url.search}`, body, signal },
      headers: { ...headers, ...credentialsOf(url), 'user-agent': `tidemark/${version}` },
    });
    const { statusCode: status } = response;
    if (status >= 200 && status < 300) return { kind: 'sent' } as const;
    const isTransient = status >= 500 || status === 429 || status === 408 || status === 425;
    const nowMs = clock.now();
    const [asked] = [response.headers['retry-after']].flat();
    return failed(`answered ${status}`, isTransient, Math.max(0, (retryAfter(asked, nowMs) ?? nowMs) - nowMs));
  } finally {
    // The answer is of no use.
    await connections.destroy();
  }
}

/** A self-hosted ntfy may ask for a name and a password. */
function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(text).toString('base64')}` };
}

async function sendMail({ entry, url }: Target, message: Message, signal: AbortSignal): Promise<Sent> {
  // It is loaded by those alone who are told by mail.
  const { createTransport } = await import('nodemailer');
  const isSecure = url.protocol === 'smtps:';
  const hasLogin = url.username !== '';
  const isNear = isPrivate(url.hostname);
  const transport = createTransport({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isSecure ? 465 : 587) : Number(url.port),
    secure: isSecure,
    // A password goes in the clear in a private network alone, where certificates are those of the house.
    requireTLS: !isSecure && hasLogin && !isNear,
    tls: { rejectUnauthorized: !isNear },
    ...(hasLogin ? { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } } : {}),
    connectionTimeout: defaultTimeoutMs,
    greetingTimeout: defaultTimeoutMs,
    socketTimeout: defaultTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const close = () => transport.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    const { from = '', to = [] } = entry.mail ?? {};
    const sent = transport.sendMail({
      ...{ from, to: [...to], subject: titleOf(message), text: linesOf(message).join('\n') },
      headers: { 'auto-submitted': 'auto-generated' },
    });
    await unlessStopped(sent, signal);
    signal.throwIfAborted();
    return { kind: 'sent' };
  } catch (error) {
    if (signal.aborted) throw error;
    const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
    const words = [code, responseCode].filter((one) => one !== undefined).join(' ');
    const isRefused = (typeof responseCode === 'number' && responseCode >= 500) || code === 'EAUTH';
    return failed(`the mail server failed: ${words}`, !isRefused);
  } finally {
    signal.removeEventListener('abort', close);
    transport.close();
  }
}
