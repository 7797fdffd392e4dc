/** Requests of the last hour by minute beside the budget, as bars and in words. */

import { useState } from 'preact/hooks';
import { minuteMs } from '../../../model/intervals.ts';
import type { RequestMinutes, Summary } from '../../shapes.ts';
import { counted, formatCount, formatTime } from '../parts/format.ts';
import { Section, Table } from '../parts/table.tsx';

const height = 100;
/** Of one minute, in the units of the drawing. */
const step = 10;

export function Budget({ summary }: { summary: Summary }) {
  const [pointed, setPointed] = useState<number | null>(null);
  const [isOpen, setOpen] = useState(false);
  const { requests, perMinute } = summary;
  const totals = totalsOf(requests);
  const most = Math.max(1, perMinute, ...totals) * 1.05;
  const width = totals.length * step;
  const tall = (count: number) => (count / most) * height;
  return (
    <Section id="budget" title="Requests of the last hour">
      <p>{wordsOf(summary, totals)}</p>
      <svg
        class="requests"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        onMouseMove={({ currentTarget, clientX }) => {
          const { left, width: px } = currentTarget.getBoundingClientRect();
          setPointed(Math.min(totals.length - 1, Math.floor(((clientX - left) / px) * totals.length)));
        }}
        onMouseLeave={() => setPointed(null)}
      >
        {totals.map((total, place) => {
          const failed = requests.failed[place] ?? 0;
          const x = place * step + 1;
          return (
            <g key={requests.startMs + place * minuteMs} class={place === pointed ? 'pointed' : ''}>
              <rect class="covered" {...{ x, y: height - tall(total), width: step - 2, height: tall(total) }} />
              <rect class="failed" {...{ x, y: height - tall(failed), width: step - 2, height: tall(failed) }} />
            </g>
          );
        })}
        {perMinute > 0 && (
          <line class="limit" {...{ x1: 0, x2: width, y1: height - tall(perMinute), y2: height - tall(perMinute) }} />
        )}
      </svg>
      <p class="pointed" aria-hidden="true">
        {pointed === null ? `${formatTime(requests.startMs)} to now` : minuteWords(requests, pointed)}
      </p>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>Minute by minute</summary>
        {isOpen && (
          <Table
            caption="Minutes with requests"
            titles={['Minute', 'Requests', 'Failed']}
            rows={totals
              .flatMap((total, place) => {
                const time = formatTime(requests.startMs + place * minuteMs);
                return total === 0 ? [] : [[time, formatCount(total), formatCount(requests.failed[place] ?? 0)]];
              })
              .reverse()}
          />
        )}
      </details>
    </Section>
  );
}

function totalsOf({ lanes, failed }: RequestMinutes): number[] {
  return failed.map((_, place) => Object.values(lanes).reduce((total, counts) => total + (counts[place] ?? 0), 0));
}

function minuteWords({ startMs, lanes, failed }: RequestMinutes, place: number): string {
  const made = Object.entries(lanes).flatMap(([lane, counts]) =>
    (counts[place] ?? 0) > 0 ? [`${formatCount(counts[place] ?? 0)} ${lane}`] : [],
  );
  const lost = failed[place] ?? 0;
  return (
    `${formatTime(startMs + place * minuteMs)}: ` +
    `${made.join(', ') || 'none'}${lost > 0 ? `; ${formatCount(lost)} failed` : ''}`
  );
}

function wordsOf({ requests, perMinute }: Summary, totals: readonly number[]): string {
  const all = totals.reduce((sum, total) => sum + total, 0);
  const lost = requests.failed.reduce((sum, total) => sum + total, 0);
  // The last complete minute: the current one has only begun.
  const newest = totals.at(-2) ?? 0;
  const of = perMinute === 0 ? ', no limit' : `, ${formatCount(perMinute)} allowed`;
  return (
    `${counted(all, 'request')}, at most ${formatCount(Math.max(0, ...totals))} in a minute, ` +
    `${formatCount(newest)} in the last full minute${of}${lost > 0 ? `; ${formatCount(lost)} failed` : ''}.`
  );
}
