/** A calendar of coverage: a row for each year, a cell for each month. */

import type { Calendar } from '../../shapes.ts';
import { hrefOf } from '../state/address.ts';
import { fetchCalendar } from '../state/server.ts';
import { useLoaded } from '../state/use-model.ts';
import { formatPercent } from './format.ts';
import { shadeOf } from './heat.ts';
import { Section } from './table.tsx';

const names = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * @param seriesId null: of all series.
 * @param version what it shows may be another when this changes.
 */
export function CalendarView({
  seriesId,
  version,
}: {
  readonly seriesId: number | null;
  readonly version: string;
}) {
  const [loaded] = useLoaded(() => fetchCalendar(seriesId), [seriesId, version]);
  const months = loaded.kind === 'loaded' ? loaded.value.months : [];
  const years = new Map<number, Map<number, (typeof months)[number]>>();
  for (const month of months) {
    const at = new Date(month.startMs);
    const year = years.get(at.getUTCFullYear()) ?? new Map();
    years.set(at.getUTCFullYear(), year.set(at.getUTCMonth(), month));
  }
  return (
    <Section id="calendar" title="Coverage by month">
      {loaded.kind === 'failed' && <p class="bad" role="alert">{`Cannot load: ${loaded.message}.`}</p>}
      {loaded.kind === 'loaded' && years.size === 0 && <p>No period has closed yet.</p>}
      {years.size > 0 && (
        <>
          <p class="caption" id="calendar-caption">
            Covered share of what is wanted in each month, UTC
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
                      <Month key={name} seriesId={seriesId} month={ofYear.get(place)} />
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

function Month({
  seriesId,
  month,
}: {
  readonly seriesId: number | null;
  readonly month: Calendar['months'][number] | undefined;
}) {
  if (month === undefined || month.wantedMs === 0) return <td />;
  const { startMs, wantedMs, coveredMs, failed, awaiting } = month;
  const share = formatPercent(coveredMs, wantedMs);
  const at = new Date(startMs);
  const endMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
  const notes = `${failed ? ', a part failed' : ''}${awaiting ? ', a part awaits a second answer' : ''}`;
  const state = failed ? 'failed' : coveredMs < wantedMs ? 'gap' : 'covered';
  return (
    <td
      data-state={state}
      data-shade={shadeOf(coveredMs, wantedMs)}
      title={`${at.toISOString().slice(0, 7)}: ${share}${notes}`}
    >
      {seriesId === null ? (
        <span class="share">{share}</span>
      ) : (
        <a href={`${hrefOf({ view: 'series', seriesId, range: { startMs, endMs } })}#chart`}>
          <span class="share">{share}</span>
        </a>
      )}
    </td>
  );
}
