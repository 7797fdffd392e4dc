/** A calendar of coverage: a row for each year, a cell for each month. */

import { useEffect, useState } from 'preact/hooks';
import { monthAt, monthName } from '../../../model/months.ts';
import type { Calendar, SeriesLine } from '../../shapes.ts';
import { hrefOf } from '../state/address.ts';
import { navigate } from '../state/navigation.ts';
import { fetchCalendar } from '../state/server.ts';
import { type Loaded, useDelayed, useLoaded } from '../state/use-model.ts';
import { formatPercent } from './format.ts';
import { shadeOf } from './heat.ts';
import { LoadFailure } from './loaded-page.tsx';
import { Section } from './table.tsx';

const names = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Longer than the server keeps the answer: what is loaded then is not from before the change. */
const delayMs = 15_000;

/** Of all series: many change all the time, and their calendar is expensive. */
export function CommonCalendar({ lines }: { lines: readonly SeriesLine[] }) {
  return <CalendarView seriesId={null} version={useDelayed(versionOf(lines), delayMs)} />;
}

export function SeriesCalendar({ id, line }: { id: number; line: SeriesLine | undefined }) {
  return <CalendarView seriesId={id} version={line === undefined ? null : versionOf([line])} />;
}

/** What the calendar shows may be another when this changes. */
function versionOf(lines: readonly SeriesLine[]): string {
  const sum = (of: (line: SeriesLine) => number) => lines.reduce((total, line) => total + of(line), 0);
  return [
    sum(({ wantedMs }) => wantedMs),
    sum(({ missingMs }) => missingMs),
    sum(({ failedMs }) => failedMs),
    sum(({ awaitingMs }) => awaitingMs),
  ].join(' ');
}

/** @param seriesId null: of all series. */
function CalendarView({ seriesId, version }: { seriesId: number | null; version: string | null }) {
  const [loaded] = useLoaded(() => fetchCalendar(seriesId), [seriesId, version]);
  return <CalendarSection seriesId={seriesId} loaded={loaded} />;
}

export function CalendarSection({ seriesId, loaded }: { seriesId: number | null; loaded: Loaded<Calendar> }) {
  const months = loaded.kind === 'loaded' ? loaded.value.months : [];
  const [drag, setDrag] = useState<MonthDrag | null>(null);
  useEffect(() => {
    // Released elsewhere it chooses nothing, also later.
    const end = () => setDrag(null);
    for (const type of endings) addEventListener(type, end);
    return () => {
      for (const type of endings) removeEventListener(type, end);
    };
  }, []);
  const years = new Map<number, Map<number, (typeof months)[number]>>();
  for (const month of months) {
    const at = new Date(month.startMs);
    const year = years.get(at.getUTCFullYear()) ?? new Map();
    years.set(at.getUTCFullYear(), year.set(at.getUTCMonth(), month));
  }
  return (
    <Section id="calendar" title="Coverage by month">
      <LoadFailure of={loaded} />
      {loaded.kind === 'loaded' && years.size === 0 && <p>No period has closed yet.</p>}
      {years.size > 0 && (
        <>
          <p class="caption" id="calendar-caption">
            Share covered in each month, UTC
          </p>
          <div class="scrolled" tabIndex={0} role="group" aria-labelledby="calendar">
            <table class="calendar" aria-labelledby="calendar-caption">
              <thead>
                <tr>
                  <th scope="col">Year</th>
                  {names.map((name) => (
                    <th key={name} scope="col">
                      {name.slice(0, 1)}
                      <span class="rest">{name.slice(1)}</span>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {[...years].reverse().map(([year, ofYear]) => (
                  <tr key={year}>
                    <th scope="row">{year}</th>
                    {names.map((name, place) => (
                      <Month key={name} {...{ seriesId, drag }} month={ofYear.get(place)} onDrag={setDrag} />
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Section>
  );
}

const endings = ['pointerup', 'pointercancel'] as const;

/** The month on which a drag began, and the one that it has come to. */
interface MonthDrag {
  readonly fromMs: number;
  readonly toMs: number;
}

function Month({
  seriesId,
  month,
  drag,
  onDrag,
}: {
  seriesId: number | null;
  month: Calendar['months'][number] | undefined;
  /** Null: none. */
  drag: MonthDrag | null;
  onDrag: (drag: MonthDrag) => void;
}) {
  if (month === undefined || month.wantedMs === 0) return <td />;
  const { startMs, wantedMs, coveredMs, failed, awaiting, silent } = month;
  const share = formatPercent(coveredMs, wantedMs);
  const { endMs } = monthAt(startMs);
  const notes = [
    failed ? ', a part failed' : '',
    awaiting ? ', a part came back empty, and is asked again' : '',
    silent ? ', a part has no point for far longer than usual' : '',
  ].join('');
  const state = failed ? 'failed' : coveredMs < wantedMs ? 'gap' : silent ? 'silent' : 'covered';
  const hrefOfMonths = (fromMs: number, toMs: number) => {
    const range = { startMs: fromMs, endMs: toMs };
    return `${hrefOf({ view: 'series', seriesId: seriesId ?? 0, range, chosen: range })}#chosen`;
  };
  // A drag over several months, for a pointer only: the list of gaps and the chart have other ways.
  const ofDrag = seriesId !== null && {
    onPointerDown: ({ button }: PointerEvent) => {
      if (button === 0) onDrag({ fromMs: startMs, toMs: startMs });
    },
    onPointerEnter: () => {
      if (drag !== null) onDrag({ ...drag, toMs: startMs });
    },
    onPointerUp: () => {
      if (drag === null || drag.fromMs === startMs) return;
      navigate(hrefOfMonths(Math.min(drag.fromMs, startMs), Math.max(endMs, monthAt(drag.fromMs).endMs)));
    },
  };
  const isDragged =
    drag !== null &&
    drag.fromMs !== drag.toMs &&
    startMs >= Math.min(drag.fromMs, drag.toMs) &&
    startMs <= Math.max(drag.fromMs, drag.toMs);
  return (
    <td
      {...ofDrag}
      class={isDragged ? 'dragged' : undefined}
      data-state={state}
      data-shade={shadeOf(coveredMs, wantedMs)}
      title={`${monthName(month)}: ${share}${notes}`}
    >
      {seriesId === null ? (
        <span class="share">{share}</span>
      ) : (
        <a href={hrefOfMonths(startMs, endMs)} draggable={false}>
          <span class="share">{share}</span>
        </a>
      )}
    </td>
  );
}
