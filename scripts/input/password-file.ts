/** Passwords of roles, which are given as files: an argument would be in the list of processes. */

import { readFileSync } from 'node:fs';
import { badArgument, messageOf, TidemarkError } from '../../errors.ts';

/**
 * @param option that names the file.
 * @throws TidemarkError BAD_ARGUMENT for a file that cannot be read, or is empty.
 */
export function passwordIn(option: string, file: string): string {
  let password: string;
  try {
    password = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new TidemarkError('BAD_ARGUMENT', `${option}: ${messageOf(error)}`, {
      cause: error,
      remedy: 'name a file that this user may read',
    });
  }
  if (password !== '') return password;
  throw badArgument(`${option} ${file} is empty`);
}
