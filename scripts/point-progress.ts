/** Progress of points on their way to or from a file or a server, on standard error: standard output may be where they go. */

import { Pace } from './pace.ts';
import { bar } from './terminal/bar.ts';
import { asFits, type Line } from './terminal/lines.ts';
import { openProgress } from './terminal/progress.ts';
import type { Space } from './terminal/terminal.ts';
import { etaText } from './time-left.ts';
import { count, percent } from './wording.ts';

export interface PointProgress {
  update(done: number): void;
  stop(): void;
}

/** What takes no longer needs no line in a log. */
const quietForMs = 5000;
const barWidth = 28;

/**
 * @param of how many there are in all; null where nobody knows. @param quiet shows nothing.
 * @param things what is counted, where it is not points.
 */
export function showPointProgress(
  what: string,
  { of, quiet, things = 'points' }: { of: number | null; quiet: boolean; things?: string },
): PointProgress {
  const progress = openProgress({ stream: process.stderr, quiet, quietForMs });
  const pace = new Pace();
  return {
    update(done) {
      pace.sawDone(done);
      const perSecond = pace.perSecond();
      const rest = [
        ...(perSecond === null ? [] : [`${count(Math.round(perSecond))} ${things} a second`]),
        ...(of === null || done >= of ? [] : [etaText(pace.timeLeftMs(of - done, { perMinute: 0 }))]),
      ];
      const parts = [
        `${count(done)} ${of === null ? things : `of ${count(of)} ${things}, ${percent(done, of)}`}`,
        ...rest,
      ];
      progress.show({
        lines: (space) => [drawn(what, done, of, parts, space)],
        line: `${what}: ${parts.join(', ')}`,
        isLast: false,
      });
    },
    stop: progress.stop,
  };
}

function drawn(
  what: string,
  done: number,
  of: number | null,
  [first = '', ...rest]: readonly string[],
  { columns, glyphs }: Space,
): Line {
  const filled = of === null ? [] : bar(done, of, Math.min(barWidth, Math.floor(columns / 4)), glyphs);
  return asFits(
    [
      [{ text: `${what} ` }, ...filled, { text: `${of === null ? '' : ' '}${first}` }],
      ...rest.map((text) => [{ text }]),
    ],
    columns - 1,
  );
}
