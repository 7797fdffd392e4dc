/**
 * The simulator's only source of randomness: integer hashes of a key and a position.
 *
 * Any time can be computed without the times before it, and every engine gives the same digits. The price process uses
 * only these hashes, exact integer arithmetic and the four IEEE operations. Results of `Math.exp` or `Math.log` may
 * differ between engines.
 */

export const defaultSeed = 'tidemark';

/** The key of one random stream, derived from the seed and the stream's purpose. Unsigned 32 bits. */
export function streamKey(...parts: (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(parts.join('\u0000'), 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193);
  return hashAt(hash, parts.length);
}

/** Unsigned 32 bits for a position of a stream. (The finalizer is "lowbias32" of Chris Wellons' hash prospector.) */
export function hashAt(key: number, position: number): number {
  let hash = (key + Math.imul(position, 0x9e3779b9)) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Uniform in [0, 1). */
export function uniformAt(key: number, position: number): number {
  return hashAt(key, position) / 0x1_0000_0000;
}

/** Roughly normal, mean 0, deviation 1, within 3.5: the sum of the hash's four bytes. */
export function normalAt(key: number, position: number): number {
  const hash = hashAt(key, position);
  const sum = (hash & 255) + ((hash >>> 8) & 255) + ((hash >>> 16) & 255) + (hash >>> 24);
  return (sum - 510) / 147.8;
}
