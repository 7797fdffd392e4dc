/** What a client accepts. */

export const arrowType = 'application/vnd.apache.arrow.stream';

/** The weights by lower-case names in a header such as `br;q=0.5, gzip` or `*`. */
export function weightsOf(header: string | string[] | undefined): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const item of String(header ?? '').split(',')) {
    const [name = '', ...options] = item.split(';').map((part) => part.trim().toLowerCase());
    const weight = options.find((option) => option.startsWith('q='))?.slice(2) ?? '1';
    if (name !== '') weights.set(name, Number(weight));
  }
  return weights;
}

/** Whether an Accept header names Arrow, and with no less weight than JSON. A wildcard alone means JSON. */
export function prefersArrow(header: string | undefined): boolean {
  const weights = weightsOf(header);
  const arrow = weights.get(arrowType) ?? 0;
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return arrow > 0 && arrow >= json;
}
