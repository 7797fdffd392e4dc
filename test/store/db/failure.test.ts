import { expect, it } from 'vitest';
import { explainDatabaseError, isUnavailable } from '../../../store/db/failure.ts';

it.each([
  ['of a statement', '53100', 'could not extend file "base/1/2": No space left on device'],
  // The disk has no room for a session's cache of the catalogue.
  ['of a new session', 'XX000', 'could not write init file'],
])('a full disk is told, and may have space later, by the error %s', (_, code, message) => {
  const error = Object.assign(new Error(message), { code });
  expect(explainDatabaseError(error)).toMatchObject({ code: 'DATABASE_FULL', message });
  expect(isUnavailable(error)).toBe(true);
});
