import { hostname, userInfo } from 'node:os';

/** Who runs the command: `user@host`. */
export function userAtHost(): string {
  return `${userName()}@${hostname()}`;
}

/** A container may have a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}
