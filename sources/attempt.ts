/** One HTTP attempt: exactly one request on the wire, without retries or redirects, within one timeout. */

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, errors } from 'undici';
import type { Clock } from '../clock.ts';
import { codeOf, firstError, messageOf } from '../errors.ts';
import { withoutCredentials } from '../redaction.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

/** Looks up a header by its lower-case name. */
export type HeaderLookup = (name: string) => string | undefined;

export interface AttemptOptions {
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  /** `https://host:port` of the source. */
  readonly origin: string;
  /** `host:port` of the proxy that is used; null: none. */
  readonly proxy: string | null;
  /** Name of the request in messages: `GET /assets/bitcoin`. */
  readonly name: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Timeout of the whole attempt, from waiting for a connection to the last byte of the body. */
  readonly timeoutMs: number;
  /** Largest body, compressed and decoded. */
  readonly maxBodyBytes: number;
  /** The API key. It must not appear in messages, even if the answer quotes it. */
  readonly secret: string | null;
}

export interface Reply {
  readonly name: string;
  readonly status: number;
  readonly header: HeaderLookup;
  /** Decoded. Empty when the status is not 200 and the body is broken, late, or larger than 64 KiB. */
  readonly body: Buffer;
  readonly secret: string | null;
  readonly durationMs: number;
}

const unzip = promisify(gunzip);

/** Chunk size of decompression. Each chunk is a round trip to another thread. */
const unzipChunkBytes = 256 * 1024;

/** Longest error body that is read. */
const largestErrorBody = 64 * 1024;

/**
 * Returns the response, whatever its status.
 *
 * @throws SourceError `unreachable`, `timeout`, `too_large`, or `unexpected` when it does not speak HTTP or its
 * body cannot be decoded.
 */
export async function attempt(options: AttemptOptions): Promise<Reply> {
  const { clock, dispatcher, origin, name, path, headers, timeoutMs, maxBodyBytes, secret } = options;
  const started = clock.monotonicMs();
  const deadline = new AbortController();
  const timer = clock.after(timeoutMs, () => deadline.abort());
  let status: number | null = null;
  try {
    const response = await dispatcher.request({ method: 'GET', origin, path, headers, signal: deadline.signal });
    status = response.statusCode;
    const header = headerLookup(response.headers);
    const encoding = header('content-encoding');
    const body =
      status === 200
        ? await readBody(response.body, { encoding, maxBytes: maxBodyBytes })
        : await errorBody(response.body, encoding);
    return { name, status, header, body, secret, durationMs: clock.monotonicMs() - started };
  } catch (error) {
    const failed = deadline.signal.aborted
      ? { kind: 'timeout' as const, words: `no complete answer within ${timeoutMs} ms`, bytes: 0, isSent: true }
      : failure(error, options);
    const { words, bytes, isSent } = failed;
    // A source whose answer breaks off can be reached.
    const kind = failed.kind === 'unreachable' && status !== null ? 'unexpected' : failed.kind;
    const durationMs = clock.monotonicMs() - started;
    throw new SourceError({ kind, message: `${name}: ${words}`, status, bytes, isSent, durationMs, cause: error });
  } finally {
    timer.stop();
  }
}

/** The beginning of the body, on one line, without the key. */
export function bodyToShow(reply: Reply, maxBytes = 4096): string {
  return wordsToShow(reply, reply.body.toString('utf8', 0, maxBytes));
}

/** A shorter key, or a plain word, may occur in an answer by chance. */
const shortestQuoted = 8;
const plainWord = /^[a-z]+$/i;

/**
 * Words of the answer, in one line without tags and credentials, also where it quotes the key: a plain word where it
 * stands alone.
 */
export function wordsToShow({ secret }: Reply, words: string, longest = maxExcerpt): string {
  const clean = withoutCredentials(withoutTags(words));
  if (secret === null || secret.length < shortestQuoted) return excerpt(clean, longest);
  const hidden = '(the API key)';
  if (plainWord.test(secret))
    return excerpt(clean.replace(new RegExp(`(?<=^|\\W|%[\\da-f]{2})${secret}(?!\\w)`, 'gi'), hidden), longest);
  return excerpt(clean.replaceAll(secret, hidden).replaceAll(encodeURIComponent(secret), hidden), longest);
}

/** The text of a page in HTML, or of an error in XML. Others are returned as they are. */
export function withoutTags(text: string): string {
  if (!/^\s*<[!?a-z]/i.test(text)) return text;
  return text
    .replaceAll(/<(script|style)\b.*?<\/\1\s*>|<!--.*?-->|<[^>]*>?/gis, ' ')
    .replaceAll(/&(?:nbsp|#160);/g, ' ')
    .replaceAll('&amp;', '&');
}

/** A broken or endless body must not hide the status. */
async function errorBody(stream: AsyncIterable<Buffer>, encoding: string | undefined): Promise<Buffer> {
  try {
    return await readBody(stream, { encoding, maxBytes: largestErrorBody });
  } catch {
    return Buffer.alloc(0);
  }
}

/**
 * The decoded body, of at most `maxBytes`, compressed or not. Stops reading as soon as it is larger.
 *
 * @throws SourceError `too_large`, or `unexpected` when it is compressed in a way that was not asked for or is broken;
 * whatever the stream throws.
 */
async function readBody(
  stream: AsyncIterable<Buffer>,
  { encoding, maxBytes }: { encoding: string | undefined; maxBytes: number },
): Promise<Buffer> {
  const raw = await collect(stream, maxBytes);
  switch (encoding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      return raw;
    case 'gzip':
    case 'x-gzip':
      return decompress(raw, maxBytes);
    default:
      throw new SourceError({
        kind: 'unexpected',
        message: `content encoding ${encoding?.slice(0, 40)} was not asked for`,
        bytes: raw.length,
      });
  }
}

async function collect(stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Throwing closes the stream and its connection.
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new SourceError({ kind: 'too_large', message: `body is larger than ${maxBytes} bytes`, bytes });
    chunks.push(chunk);
  }
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, bytes);
}

async function decompress(raw: Buffer, maxBytes: number): Promise<Buffer> {
  // Some gateways mark an empty body as gzip.
  if (raw.length === 0) return raw;
  try {
    return await unzip(raw, { maxOutputLength: maxBytes, chunkSize: unzipChunkBytes });
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE')
      throw new SourceError({
        kind: 'too_large',
        message: `body is larger than ${maxBytes} bytes once decompressed`,
        bytes: maxBytes,
        cause: error,
      });
    throw new SourceError({
      kind: 'unexpected',
      message: 'compression of the body is broken',
      bytes: raw.length,
      cause: error,
    });
  }
}

function failure(
  thrown: unknown,
  { origin, proxy }: Pick<AttemptOptions, 'origin' | 'proxy'>,
): { kind: SourceErrorKind; words: string; bytes: number; isSent: boolean } {
  const error = firstError(thrown);
  const answered = { kind: 'unexpected' as const, bytes: 0, isSent: true };
  if (error instanceof SourceError) return { ...answered, kind: error.kind, words: error.message, bytes: error.bytes };
  const words = causeOf(error);
  const isUnconnected = failsToConnect(error);
  const byProxy = proxy === null ? null : proxyTrouble(words, origin, isUnconnected);
  if (byProxy !== null)
    return { kind: 'unreachable', words: `the proxy at ${proxy} ${byProxy}`, bytes: 0, isSent: false };
  const tls = tlsTrouble(String(codeOf(error)));
  if (tls !== null) return { ...answered, words: `${tls} (${words})` };
  const isAnswered =
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    (error instanceof errors.SocketError && /^bad (?:response|upgrade)$/.test(error.message));
  return isAnswered ? { ...answered, words } : { kind: 'unreachable', words, bytes: 0, isSent: !isUnconnected };
}

/** Whether no connection was made: the name has no address, or no address of it accepts one. */
function failsToConnect(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  return error instanceof Error && 'syscall' in error && /^(?:connect|getaddrinfo)$/.test(String(error.syscall));
}

/** @param words of undici, or of the only connection that is made here: the one to the proxy. */
function proxyTrouble(words: string, origin: string, isUnconnected: boolean): string | null {
  if (isUnconnected) return `cannot be reached (${words}); HTTPS_PROXY, HTTP_PROXY and NO_PROXY set it`;
  const status = /^Proxy .*\((\d+)\)/.exec(words)?.[1];
  if (status === undefined) return null;
  const variable = origin.startsWith('https:') ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  return `refuses (status ${status}${status === '407' ? `: it needs a user and password in ${variable}` : ''})`;
}

function tlsTrouble(code: string): string | null {
  if (/^ERR_SSL_.*(?:HANDSHAKE_FAILURE|PROTOCOL)/.test(code))
    return 'it and this machine share no version or cipher of TLS';
  return tlsCodes[code] ?? (code.startsWith('ERR_SSL_') ? 'TLS fails' : null);
}

const unknownAuthority =
  'its certificate comes from an authority that is not known here; NODE_EXTRA_CA_CERTS can name a file with it';

/** Codes of OpenSSL and Node: https://nodejs.org/docs/latest-v20.x/api/tls.html#x509-certificate-error-codes. */
const tlsCodes: Readonly<Record<string, string>> = Object.freeze({
  CERT_HAS_EXPIRED: 'its certificate has expired, or the clock of this machine is wrong',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this machine is wrong',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is that of another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS at this port; its address may begin with http://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS at this port; its address may begin with http://',
});

function causeOf(error: unknown): string {
  return excerpt(error instanceof Error && error.message === '' ? error.name : messageOf(error));
}

function headerLookup(headers: Readonly<Record<string, string | string[] | undefined>>): HeaderLookup {
  return (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
}

const maxExcerpt = 300;

/** The beginning of `text` on one line, without control characters: it may reach a terminal. */
function excerpt(text: string, longest = maxExcerpt): string {
  // Truncate first: cleaning a body of megabytes is slow.
  const line = text
    .slice(0, 4 * longest)
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`;
}
