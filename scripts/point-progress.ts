/** Progress of points on their way to or from a file, on standard error: standard output may be where they go. */

import { Presets, SingleBar } from 'cli-progress';
import { count, percent } from './wording.ts';

export interface PointProgress {
  update(done: number): void;
  stop(): void;
}

const lineEveryMs = 5000;

/** @param of how many there are in all; null where nobody knows. @param quiet shows nothing. */
export function showPointProgress(
  what: string,
  { of, quiet }: { of: number | null; quiet: boolean },
): PointProgress {
  if (quiet) return { update: () => {}, stop: () => {} };
  return process.stderr.isTTY && of !== null ? bar(what, of) : lines(what, of);
}

function bar(what: string, of: number): PointProgress {
  const single = new SingleBar(
    {
      format: `${what} {bar} {percentage} %  {value} of {total} points`,
      barsize: 28,
      hideCursor: true,
      gracefulExit: false,
    },
    Presets.shades_classic,
  );
  let isStarted = false;
  return {
    update(done) {
      if (!isStarted) single.start(Math.max(1, of), done);
      else single.update(done);
      isStarted = true;
    },
    stop: () => single.stop(),
  };
}

/** The first one after a while: what is short needs none. */
function lines(what: string, of: number | null): PointProgress {
  let nextMs = performance.now() + lineEveryMs;
  return {
    update(done) {
      const nowMs = performance.now();
      if (nowMs < nextMs || done === of) return;
      nextMs = nowMs + lineEveryMs;
      const share = of === null ? '' : ` of ${count(of)}, ${percent(done, of)}`;
      console.error(`${what}: ${count(done)} points${share}`);
    },
    stop: () => {},
  };
}
