/** Schemas for field types of the resources, which accept the variants that sources send. */

import { z } from 'zod';
import { type DecimalText, isDecimalText } from './decimal.ts';
import { latestMs } from './intervals.ts';

const notADecimal = 'not a decimal';

/**
 * A decimal as text or as a JSON number. The JSON reader (`source/json.ts`) passes numbers that a double would change as
 * text, so only exact integers arrive here as numbers.
 */
export const decimal = z
  .union([z.string(), z.int()], notADecimal)
  .transform((value, context): DecimalText => {
    const text = String(value);
    if (isDecimalText(text)) return text;
    context.addIssue({ code: 'custom', message: notADecimal });
    return z.NEVER;
  });

/** An integer, as text or as a JSON number. */
export const integer = z
  .union([z.int(), z.string().regex(/^-?\d{1,15}$/)], 'not an integer')
  .transform(Number);

/** UNIX milliseconds. Always a JSON integer. */
export const epochMs = z.int().min(0).max(latestMs);

/**
 * Text that PostgreSQL can store: no NUL and no lone surrogate, which has no UTF-8. Such a row is rejected alone; otherwise
 * the commit of the whole response would fail.
 */
const storable = z.string().regex(/^[^\0\p{Surrogate}]*$/u, 'holds a character that cannot be stored');

export const id = storable.min(1).max(200);
export const text = storable.max(2000);
/** A name that identifies rows. Four of them fit into one index entry. */
export const name = storable.max(200);

/** A field that may be absent or null; both become null. */
export function absentAsNull<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value): z.output<Schema> | null => value ?? null);
}
