/** Field types of the resources, as schemas that accept what sources send in the field. */

import { z } from 'zod';
import { type DecimalText, isDecimalText } from './decimal.ts';
import { latestMs } from './intervals.ts';

const notADecimal = 'not a decimal';

/**
 * A decimal, as text or as a JSON number. The reader of an answer (`source/json.ts`) hands over a number that a
 * double would change as its text, so only whole numbers that are exact arrive here as numbers.
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
 * Text that a database can keep as it is: PostgreSQL takes no NUL, and half a surrogate pair has no UTF-8. One such
 * row must be refused on its own, or it would fail the commit of all that came with it.
 */
const storable = z.string().regex(/^[^\0\p{Surrogate}]*$/u, 'holds a character that cannot be stored');

export const id = storable.min(1).max(200);
export const text = storable.max(2000);
/** A name that rows are told apart by: four of them fit into one entry of an index. */
export const name = storable.max(200);

/** A field that sources leave out or send as null: both read as null. */
export function absentAsNull<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value): z.output<Schema> | null => value ?? null);
}
