/** Reads a request: its normalized target, its key, its query parameters. */

import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { badRequest } from './response.ts';

/** The last segment of the base address (specification, section 9). */
export const basePath = '/v2';

/**
 * Normalizes a request target: the absolute form (RFC 9112, 3.2.2) becomes the origin form, and unreserved characters
 * in the path lose their percent-encoding (RFC 3986, 6.2.2.2). The router accepts all forms, so code that decides by
 * the URL must see the form that the router sees. A path of the interface loses its trailing slash, which some clients
 * send.
 */
export function normalizeTarget(target: string): string {
  const origin = target.replace(/^https?:\/\/[^/?#]*/i, '');
  const [path = ''] = origin.split(/[?#]/, 1);
  const plain = path.replaceAll(/%([2-7][0-9a-f])/gi, (encoded, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /[\w.~-]/.test(character) ? character : encoded;
  });
  const absolute = plain.startsWith('/') || plain === '*' ? plain : `/${plain}`;
  const query = origin.slice(path.length);
  return (absolute.startsWith(`${basePath}/`) ? absolute.replace(/(?<=[^/])\/$/, '') : absolute) + query;
}

/** Whether a request is for the interface: by its route or, without one, by its URL. */
export function isInterfaceRequest({ routeOptions, url }: FastifyRequest): boolean {
  const path = routeOptions.url ?? url;
  return path === basePath || path.startsWith(`${basePath}/`) || path.startsWith(`${basePath}?`);
}

/** The key of a bearer Authorization header (specification, section 5; RFC 6750, 2.1); null without one. */
export function bearerKey(header: string | undefined): string | null {
  return /^Bearer +([\w.~+/-]+=*) *$/i.exec(header ?? '')?.[1] ?? null;
}

/** Validates query parameters. @throws ServiceRefusal 400 with the first error. */
export function parseParameters<Schema extends z.ZodType>(schema: Schema, query: unknown): z.output<Schema> {
  const result = schema.safeParse(query);
  if (result.success) return result.data;
  throw badRequest(result.error.issues[0]?.message ?? 'bad parameters');
}

/** Whether a request names two hosts. It is refused (RFC 9112, 3.2): a proxy may have looked at the other one. */
export function hasTwoHosts({ rawHeaders }: { readonly rawHeaders: readonly string[] }): boolean {
  return rawHeaders.filter((word, place) => place % 2 === 0 && /^host$/i.test(word)).length > 1;
}
