/** Requests of the last hour by minute beside the budget, as bars and in words; each minute opens to its requests. */

import type { TargetedMouseEvent } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { minuteMs } from '../../../model/intervals.ts';
import type { RequestMinutes, Summary } from '../../shapes.ts';
import { counted, formatCount, formatTime } from '../parts/format.ts';
import { LoadFailure } from '../parts/loaded-page.tsx';
import { MarkList, MarkRows, marksOf } from '../parts/marks.tsx';
import { Section, Table } from '../parts/table.tsx';
import { hrefOf, readAddress } from '../state/address.ts';
import { choose } from '../state/navigation.ts';
import { fetchTimeline } from '../state/server.ts';
import { useLoaded } from '../state/use-model.ts';
import { Minute } from './minute.tsx';

const height = 100;
/** Of one minute, in the units of the drawing. */
const step = 10;

/** @param visit changes when the address may have another minute. */
export function Budget({ summary, visit }: { summary: Summary; visit: number }) {
  const [pointed, setPointed] = useState<number | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [minute, setMinute] = useState(() => readAddress(location.search).minute);
  useLayoutEffect(() => setMinute(readAddress(location.search).minute), [visit]);
  const show = (minute: number | null) => {
    setMinute(minute);
    choose(hrefOf({ ...readAddress(location.search), minute }));
  };
  const { requests, perMinute } = summary;
  const { startMs } = requests;
  const totals = totalsOf(requests);
  const most = Math.max(1, perMinute, ...totals) * 1.05;
  const width = totals.length * step;
  const hour = { startMs, endMs: startMs + totals.length * minuteMs };
  const paused = summary.sources.filter(({ isPaused }) => isPaused).length;
  const [timeline] = useLoaded(() => fetchTimeline(hour), [startMs, summary.state.headline.kind, paused]);
  const marks = marksOf(timeline);
  const tall = (count: number) => (count / most) * height;
  return (
    <Section id="budget" title="Requests of the last hour">
      <p>{wordsOf(summary, totals)}</p>
      <MarkRows marks={marks} range={hour} />
      <svg
        class="requests"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        onMouseMove={(event) => setPointed(placeAt(event, totals.length))}
        onMouseLeave={() => setPointed(null)}
        onClick={(event) => show(startMs + placeAt(event, totals.length) * minuteMs)}
      >
        {totals.map((total, place) => {
          const failed = requests.failed[place] ?? 0;
          const x = place * step + 1;
          return (
            <g key={startMs + place * minuteMs} class={place === pointed ? 'pointed' : ''}>
              {startMs + place * minuteMs === minute && (
                <rect class="chosen" {...{ x: place * step, y: 0, width: step, height }} />
              )}
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
        {pointed === null
          ? `${formatTime(startMs)} to now. A click on a bar shows the requests of its minute.`
          : minuteWords(requests, pointed)}
      </p>
      <LoadFailure of={timeline} />
      <MarkList marks={marks} />
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>Minute by minute</summary>
        {isOpen && (
          <Table
            caption="Minutes with requests; each opens to them"
            titles={['Minute', 'Requests', 'Failed']}
            rows={totals
              .flatMap((total, place) => {
                const timeMs = startMs + place * minuteMs;
                const button = (
                  <button key="minute" type="button" onClick={() => show(timeMs)}>
                    {formatTime(timeMs)}
                  </button>
                );
                return total === 0 ? [] : [[button, formatCount(total), formatCount(requests.failed[place] ?? 0)]];
              })
              .reverse()}
          />
        )}
      </details>
      {minute !== null && <Minute minute={minute} requests={totals[(minute - startMs) / minuteMs]} onChange={show} />}
    </Section>
  );
}

/** The place of the bar under the pointer. */
function placeAt({ currentTarget, clientX }: TargetedMouseEvent<SVGSVGElement>, places: number): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.max(0, Math.min(places - 1, Math.floor(((clientX - left) / width) * places)));
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
