/** Single keys, without Enter, while something is drawn. */

export interface Keys {
  /** Gives the keyboard back: Ctrl-C and Ctrl-Z are the terminal's own again. */
  pause(): void;
  resume(): void;
}

/**
 * Listens where standard input is a terminal. Ctrl-C and Ctrl-Z do what they always do: a terminal that hands out single
 * keys leaves them to whoever reads those.
 *
 * @param onKey is called with each other key.
 */
export function readKeys(input: NodeJS.ReadStream, onKey: (key: string) => void): Keys {
  if (input.isTTY !== true) return { pause: () => {}, resume: () => {} };
  // A terminal that goes away is told by SIGHUP.
  input.on('error', () => {});
  const read = (keys: Buffer) => {
    for (const key of keys.toString()) {
      if (key === '\u0003') process.kill(process.pid, 'SIGINT');
      // All of the foreground, as npx too.
      else if (key === '\u001a') process.kill(0, 'SIGTSTP');
      else onKey(key);
    }
  };
  const keys: Keys = {
    pause() {
      input.off('data', read);
      input.setRawMode(false);
      input.pause();
    },
    resume() {
      input.setRawMode(true);
      input.on('data', read);
      input.resume();
    },
  };
  keys.resume();
  return keys;
}
