/** Parts of the schemas of the dashboard's messages. No message has a field that its schema lacks. */

import { z } from 'zod';

/** Milliseconds since 1970, UTC. */
export const time = z.number();

export function message<Fields extends z.core.$ZodLooseShape>(fields: Fields) {
  return z.strictObject(fields).readonly();
}

export function listOf<Entry extends z.ZodType>(entry: Entry) {
  return z.array(entry).readonly();
}
