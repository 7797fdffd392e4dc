/** The bearer scheme (specification, section 5; RFC 6750, 2.1). */

/** The key of an Authorization header; null without one, or with another scheme. */
export function bearerKey(header: string | undefined): string | null {
  return /^Bearer +([\w.~+/-]+=*) *$/i.exec(header ?? '')?.[1] ?? null;
}
