/** Field types of the resources, as schemas that accept what sources send in the field. */

import { z } from 'zod';
import { type DecimalText, isDecimalText } from './decimal.ts';

/**
 * A decimal, as text or as a JSON number. The reader of an answer (`source/json.ts`) hands over a number that a
 * double would change as its text, so only whole numbers that are exact arrive here as numbers.
 */
export const decimal = z
  .union([z.string(), z.int()])
  .transform((value, context): DecimalText => {
    const text = String(value);
    if (isDecimalText(text)) return text;
    context.addIssue({ code: 'custom', message: 'not a decimal' });
    return z.NEVER;
  });

/** An integer, as text or as a JSON number. */
export const integer = z.union([z.int(), z.string().regex(/^-?\d{1,15}$/)]).transform(Number);

/** UNIX milliseconds. Always a JSON integer. */
export const epochMs = z.int().min(0).max(8_640_000_000_000_000);

export const id = z.string().min(1).max(200);
export const text = z.string().max(2000);

/** A field that sources leave out or send as null: both read as null. */
export function absentAsNull<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value): z.output<Schema> | null => value ?? null);
}
