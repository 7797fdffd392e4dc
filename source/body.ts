/** Reads and decompresses a response body within a size limit. */

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

const unzip = promisify(gunzip);

/** Chunk size of decompression. Each chunk is a round trip to another thread. */
const unzipChunkBytes = 256 * 1024;

export class BodyError extends Error {
  readonly kind: 'too_large' | 'unexpected';
  /** Decoded bytes read so far. */
  readonly bytes: number;

  constructor(kind: BodyError['kind'], message: string, bytes: number, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.kind = kind;
    this.bytes = bytes;
  }
}

/**
 * The decoded body, of at most `maxBytes`, compressed or not. Stops reading as soon as it is larger.
 *
 * @throws BodyError when it is too large, or compressed in a way that was not asked for or is broken; whatever the
 * stream throws.
 */
export async function readBody(
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
      throw new BodyError(
        'unexpected',
        `content encoding ${encoding?.slice(0, 40)} was not asked for`,
        raw.length,
      );
  }
}

async function collect(stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Throwing closes the stream and its connection.
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new BodyError('too_large', `body is larger than ${maxBytes} bytes`, bytes);
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
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw new BodyError(
        'too_large',
        `body is larger than ${maxBytes} bytes once decompressed`,
        maxBytes,
        error,
      );
    throw new BodyError('unexpected', 'compression of the body is broken', raw.length, error);
  }
}
