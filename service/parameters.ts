/** Query parameters, checked against the contract. */

import type { z } from 'zod';
import { badRequest } from './refusals.ts';

/** @throws ServiceRefusal 400 with the first thing that is wrong. */
export function parameters<Schema extends z.ZodType>(schema: Schema, query: unknown): z.output<Schema> {
  const result = schema.safeParse(query);
  if (result.success) return result.data;
  throw badRequest(result.error.issues[0]?.message ?? 'bad parameters');
}
