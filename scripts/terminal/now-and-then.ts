/** Lines for a log: not more of them than anybody reads. */

/** Closer together at first, while somebody may be watching; a long run leaves no more than 120 an hour. */
const lineEveryMs = 5000;
const laterEveryMs = 30_000;
const firstMs = 60_000;

export type PrintNowAndThen = (line: string, isLast: boolean) => void;

/** @param quietForMs before the first line. @returns a function that prints a line that is new, and whose time has come. */
export function nowAndThen(
  print: (line: string) => void,
  quietForMs = 0,
  now: () => number = () => performance.now(),
): PrintNowAndThen {
  const startedMs = now();
  let nextMs = startedMs + quietForMs;
  let shown = '';
  return (line, isLast) => {
    const nowMs = now();
    if ((nowMs < nextMs && !isLast) || line === shown) return;
    shown = line;
    nextMs = nowMs + (nowMs - startedMs < firstMs ? lineEveryMs : laterEveryMs);
    print(line);
  };
}
