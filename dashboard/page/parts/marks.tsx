/** Marks of a timeline: outages, bans, pauses and upgrades, drawn over bars, and as text. */

import type { Range } from '../../../model/intervals.ts';
import type { StoredEvent } from '../../shapes.ts';
import type { Loaded } from '../state/use-model.ts';
import { counted, formatDuration, formatTime, wholeSecond } from './format.ts';
import { Table } from './table.tsx';

/** In the order of their rows. */
export const markKinds: readonly string[] = ['outage', 'ban', 'pause', 'upgrade'];
export const rowPx = 14;
/** Where the name of a mark is, so that it fits beside its beginning. */
const lastNamePercent = 85;
const leastPercent = 0.4;

/** Where a name begins that fits beside `x`: at the right edge of the pane further left, or the price axis cuts it. */
export function nameWithin(x: number, width: number, paneWidth: number): number {
  return Math.max(0, Math.min(x, paneWidth - width - 3));
}

/** A row for each kind, in the range of what is below: also an empty one, so that nothing moves when marks come. */
export function MarkRows({ marks, range: { startMs, endMs } }: { marks: readonly StoredEvent[]; range: Range }) {
  const percent = (timeMs: number) => Math.min(100, Math.max(0, (100 * (timeMs - startMs)) / (endMs - startMs)));
  return (
    <svg class="marks" aria-hidden="true" height={markKinds.length * rowPx}>
      {markKinds.map((kind, row) => {
        const places = marks
          .filter((mark) => mark.kind === kind)
          .map(({ timeMs, untilMs }) => ({ left: percent(timeMs), right: percent(untilMs ?? timeMs) }));
        const first = Math.min(lastNamePercent, ...places.map(({ left }) => left));
        return (
          <g key={kind} class={kind}>
            {places.map(({ left, right }) => (
              <rect
                key={left}
                x={`${Math.min(left, 100 - leastPercent)}%`}
                y={row * rowPx + 1}
                width={`${Math.max(leastPercent, right - left)}%`}
                height={rowPx - 2}
              />
            ))}
            <text x={places.length === 0 ? 0 : `${first + leastPercent}%`} dx="3" y={row * rowPx + rowPx - 3}>
              {places.length === 0 ? `no ${kind}` : kind}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

const none: readonly StoredEvent[] = [];

export function marksOf(loaded: Loaded<readonly StoredEvent[]>): readonly StoredEvent[] {
  return loaded.kind === 'loading' ? none : (loaded.value ?? none);
}

/** The marks as text, folded. */
export function MarkList({
  marks,
  timeText = formatTime,
}: {
  marks: readonly StoredEvent[];
  /** In which zone. */
  timeText?: (timeMs: number) => string;
}) {
  const kinds = markKinds.flatMap((kind) => {
    const { length } = marks.filter((mark) => mark.kind === kind);
    return length === 0 ? [] : [counted(length, kind)];
  });
  return (
    <details>
      <summary>{`Marked: ${kinds.join(', ') || 'nothing'}`}</summary>
      <Table
        caption="Outages, bans, pauses and upgrades, newest first"
        titles={['When', 'Lasted', 'What', 'Event']}
        rows={marks.map((mark) => [timeText(wholeSecond(mark.timeMs)), lengthOf(mark), mark.kind, mark.text])}
      />
    </details>
  );
}

export function lengthOf({ timeMs, untilMs }: StoredEvent): string {
  return untilMs === null || untilMs - timeMs < 1000 ? '' : formatDuration(untilMs - timeMs);
}
