/** Coverage by exchange and interval; each cell opens the list of its series. */

import { useFolded } from '../parts/folded.tsx';
import { formatCount, formatPercent } from '../parts/format.ts';
import { shadeOf } from '../parts/heat.ts';
import { Section } from '../parts/table.tsx';
import { hrefOf } from '../state/address.ts';
import { useModel } from '../state/use-model.ts';
import { type Group, groupSeries } from './groups.ts';

/** Rows before the rest is folded. */
const firstRows = 20;

export function Matrix() {
  const { intervals, rows } = groupSeries(useModel().series.values());
  const { shown, button } = useFolded(rows, firstRows);
  if (rows.length === 0) return null;
  return (
    <Section id="matrix" title="By exchange and interval">
      {/* Not a caption, which would be as narrow as a table of few intervals. */}
      <p class="caption" id="matrix-caption">
        Share covered, and number of series. Click to list them.
      </p>
      <div class="scrolled" tabIndex={0} role="group" aria-labelledby="matrix">
        <table class="matrix" aria-labelledby="matrix-caption">
          <thead>
            <tr>
              <th scope="col">Exchange</th>
              {intervals.map((interval) => (
                <th key={interval} scope="col">
                  {interval}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(([exchange, groups]) => (
              <tr key={exchange}>
                <th scope="row">
                  <a href={`${hrefOf({ exchange })}#series`}>{exchange}</a>
                </th>
                {intervals.map((interval) => (
                  <Cell key={interval} {...{ exchange, interval, group: groups.get(interval) }} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {button}
    </Section>
  );
}

function Cell({ exchange, interval, group }: { exchange: string; interval: string; group: Group | undefined }) {
  if (group === undefined) return <td />;
  const { series, coveredMs, wantedMs, failing, awaiting, behind } = group;
  const state = failing > 0 ? 'failed' : wantedMs > coveredMs ? 'gap' : 'covered';
  const counts = [
    `${formatCount(series)} series`,
    failing > 0 ? `${formatCount(failing)} failing` : '',
    awaiting > 0 ? `${formatCount(awaiting)} asked again` : '',
    behind > 0 ? `${formatCount(behind)} late` : '',
  ].filter((text) => text !== '');
  return (
    <td data-state={state} data-shade={shadeOf(coveredMs, wantedMs)}>
      <a href={`${hrefOf({ exchange, interval })}#series`} title={counts.join(', ')}>
        {wantedMs === 0 ? 'none yet' : formatPercent(coveredMs, wantedMs)}
        <span class="count">{formatCount(series)}</span>
        {counts.length > 1 && <span class="count">{counts[1]}</span>}
      </a>
    </td>
  );
}
