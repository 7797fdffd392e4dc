/** Texts that a service of this interface answers in place of a resource. */

import { parseExactJson } from './json.ts';

export interface ServiceWords {
  /** `{"error": "…"}` */
  readonly error: string | null;
  /** `{"data": {"message": "…"}}`: how a service that is being retired answers. */
  readonly notice: string | null;
}

/** The words in an answer that was already read as JSON. */
export function serviceWords(value: unknown): ServiceWords {
  return { error: textAt(value, 'error'), notice: textAt(fieldOf(value, 'data'), 'message') };
}

/** The words in a body, which may be no JSON at all. */
export function serviceWordsIn(text: string): ServiceWords {
  try {
    return serviceWords(parseExactJson(text));
  } catch {
    return { error: null, notice: null };
  }
}

/** Whether the service says that it does not know the id, in the interface's words: `<id> not found`. */
export function saysUnknown(words: ServiceWords): boolean {
  return words.error !== null && / not found$/i.test(words.error.trim());
}

function textAt(value: unknown, key: string): string | null {
  const field = fieldOf(value, key);
  return typeof field === 'string' ? field : null;
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
