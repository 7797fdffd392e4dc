/** The address of a request in one form, however a client writes it, and what it is for. */

import type { FastifyRequest } from 'fastify';

/** The base address ends with this segment (specification, section 9). */
export const basePath = '/v2';

/**
 * The absolute form, which every server has to take (RFC 9112, 3.2.2), as the origin form; and characters that need no
 * percent-encoding without it (RFC 3986, 6.2.2.2), before the query. The router would read either, so whatever decides
 * by the address has to see what the router sees.
 */
export function plainTarget(target: string): string {
  const origin = target.replace(/^https?:\/\/[^/?#]*/i, '');
  const [path = ''] = origin.split(/[?#]/, 1);
  const plain = path.replaceAll(/%([2-7][0-9a-f])/gi, (encoded, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /[\w.~-]/.test(character) ? character : encoded;
  });
  return (plain.startsWith('/') || plain === '*' ? plain : `/${plain}`) + origin.slice(path.length);
}

/** Whether a request is for the interface: by the route that was found, and where none was, by its address. */
export function isOfInterface({ routeOptions, url }: FastifyRequest): boolean {
  const path = routeOptions.url ?? url;
  return path === basePath || path.startsWith(`${basePath}/`) || path.startsWith(`${basePath}?`);
}
