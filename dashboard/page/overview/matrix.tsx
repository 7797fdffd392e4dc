/** Coverage by exchange and interval; each cell opens the list of its series. */

import { nonEmpty } from '../../../model/format.ts';
import { sum } from '../../../model/sum.ts';
import type { SeriesLine } from '../../shapes.ts';
import { useFolded } from '../parts/folded.tsx';
import { formatCount, formatPercent } from '../parts/format.ts';
import { shadeOf } from '../parts/heat.ts';
import { Section } from '../parts/table.tsx';
import { hrefOf } from '../state/address.ts';
import { isAskedAgain, isFailing, isLate } from '../state/model.ts';
import { useModel } from '../state/use-model.ts';
import { groupSeries } from './groups.ts';

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

function Cell(of: { exchange: string; interval: string; group: readonly SeriesLine[] | undefined }) {
  const { exchange, interval, group } = of;
  if (group === undefined) return <td />;
  const [wantedMs, coveredMs] = [sum(group.map((line) => line.wantedMs)), sum(group.map((line) => line.coveredMs))];
  const state = group.some(isFailing) ? 'failed' : wantedMs > coveredMs ? 'gap' : 'covered';
  const textOf = (is: (line: SeriesLine) => boolean, words: string) => {
    const { length } = group.filter(is);
    return length > 0 ? `${formatCount(length)} ${words}` : '';
  };
  const states = [textOf(isFailing, 'failing'), textOf(isAskedAgain, 'asked again'), textOf(isLate, 'late')];
  const counts = nonEmpty([`${formatCount(group.length)} series`, ...states]);
  return (
    <td data-state={state} data-shade={shadeOf(coveredMs, wantedMs)}>
      <a href={`${hrefOf({ exchange, interval })}#series`} title={counts.join(', ')}>
        {wantedMs === 0 ? 'none yet' : formatPercent(coveredMs, wantedMs)}
        <span class="count">{formatCount(group.length)}</span>
        {counts.length > 1 && <span class="count">{counts[1]}</span>}
      </a>
    </td>
  );
}
