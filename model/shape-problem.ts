/** Messages of zod for people, such as `not a whole number`. A schema with a message of its own keeps that. */

import type { z } from 'zod';

/** Every number that is read is a whole one: decimals are text. */
const nouns: Readonly<Record<string, string>> = {
  ...{ string: 'text', int: 'a whole number', number: 'a whole number', boolean: 'true or false' },
  ...{ array: 'a list', object: 'an object', record: 'an object' },
};

/** An error map. Undefined: the message of zod. */
export const shapeProblem: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'missing' : `not ${nouns[issue.expected] ?? issue.expected}`;
    case 'too_small':
      if (issue.origin === 'string') return issue.minimum === 1 ? 'empty' : undefined;
      return isNumber(issue.origin) ? `less than ${issue.minimum}` : undefined;
    case 'too_big':
      if (issue.origin === 'string') return `longer than ${issue.maximum} characters`;
      return isNumber(issue.origin) ? `more than ${issue.maximum}` : undefined;
    default:
      return undefined;
  }
};

function isNumber(origin: string): boolean {
  return origin === 'number' || origin === 'int';
}
