/** A part of a series in front of the reader: what is known of it, why, and what can be done with it, with its cost. */

import { useState } from 'preact/hooks';
import { type Interval, intervalMs, type Range } from '../../../model/intervals.ts';
import { explainGap, verdictText } from '../../../model/reasons.ts';
import type { SeriesDetail, SeriesRange } from '../../shapes.ts';
import { seriesAction } from '../parts/actions.tsx';
import { Copyable } from '../parts/copyable.tsx';
import { counted, describeCoverage, formatCount, formatDuration, wholeSecond } from '../parts/format.ts';
import { LoadFailure } from '../parts/loaded-page.tsx';
import { Panel } from '../parts/panel.tsx';
import { PricedActions } from '../parts/priced-actions.tsx';
import { requestCells, requestTitles } from '../parts/requests.ts';
import { ListSection } from '../parts/table.tsx';
import { fetchRange, pointsHref } from '../state/server.ts';
import { useLoaded, useModel } from '../state/use-model.ts';
import { timeIn, type Zone } from './zone.ts';

interface InZone {
  readonly detail: SeriesDetail;
  /** Of the times, as those of the chart. */
  readonly zone: Zone;
}

export function ChosenRange({
  detail,
  zone,
  range,
  onClose,
}: InZone & { readonly range: Range; readonly onClose: () => void }) {
  const { id } = detail;
  const model = useModel();
  const line = model.series.get(id);
  const [loaded] = useLoaded(() => fetchRange(id, range), [id, line?.version, line?.failedMs, line?.awaitingMs]);
  const found = loaded.kind === 'loaded' ? loaded.value : null;
  const { startMs, endMs } = found ?? range;
  return (
    <Panel id="chosen" label="Chosen range" onClose={onClose}>
      <h2>{`${timeIn(zone, startMs)} to ${timeIn(zone, endMs)}`}</h2>
      <p class="facts">
        {`${formatDuration(endMs - startMs)}${found === null ? '' : ` · ${factsOf(found, detail, model.nowMs())}`} `}
        <button type="button" onClick={onClose}>
          Close
        </button>
      </p>
      <LoadFailure of={loaded} />
      {found !== null && <FoundRange {...{ detail, zone, found }} />}
    </Panel>
  );
}

export function FoundRange({ detail, zone, found }: InZone & { readonly found: SeriesRange }) {
  const { id, untrackedMs } = detail;
  const model = useModel();
  return (
    <>
      {untrackedMs === null && <RangeActions id={id} found={found} />}
      {(found.coveredMs > 0 || found.wantedMs === 0) && (
        <p>
          <a href={pointsHref(id, found)} download>
            Download its points as CSV
          </a>
          {`, ${rowsText(found, detail)}no request`}
        </p>
      )}
      <Copyable command={found.sql} />
      <Evidence {...{ found, zone }} nowMs={model.nowMs()} hold={model.holdOf(detail)} />
    </>
  );
}

/** What is covered may be silent. */
function rowsText({ coveredMs }: SeriesRange, { interval }: SeriesDetail): string {
  return coveredMs === 0 ? '' : `at most ${counted(Math.floor(coveredMs / intervalMs[interval as Interval]), 'row')}, `;
}

/** What is known of a range: of its part that is wanted, if that is not all. */
export function factsOf(found: SeriesRange, { fromMs, toMs }: SeriesDetail, nowMs: number): string {
  const { startMs, endMs, wantedMs, coveredMs, gapsInAll } = found;
  if (wantedMs === 0) {
    if (startMs >= nowMs) return 'lies in the future';
    const isTracked = endMs > fromMs && startMs < (toMs ?? Number.POSITIVE_INFINITY);
    return isTracked ? 'no period has closed yet' : 'not tracked';
  }
  const missing =
    gapsInAll === 0 ? 'no gap' : `${counted(gapsInAll, 'gap')} of ${formatDuration(wantedMs - coveredMs)}`;
  const wanted = formatDuration(wantedMs);
  const part = wanted === formatDuration(endMs - startMs) ? [] : [`${wanted} of it tracked and closed`];
  return [...part, describeCoverage({ ...found, fromMs }, nowMs), missing].join(' · ');
}

function RangeActions({ id, found }: { id: number; found: SeriesRange }) {
  const { startMs, endMs, others } = found;
  const [against, setAgainst] = useState(others.find(({ isKnown }) => isKnown)?.name ?? '');
  const namesOf = (isKnown: boolean) => others.filter((one) => one.isKnown === isKnown).map(({ name }) => name);
  const ofRange = (title: string, action: string, body: object = {}, ...options: string[]) =>
    seriesAction(title, action, [String(id)], {
      body: { from: startMs, to: endMs, ...body },
      options: [`--from ${isoOf(startMs)} --to ${isoOf(endMs)}`, ...options],
    });
  const actions = [
    ofRange('Retry', 'retry'),
    ofRange('Verify', 'verify', { sample: null }, '--all'),
    ofRange('Repair', 'repair'),
  ];
  const compare = () =>
    ofRange(`Verify against ${against}`, 'verify', { sample: null, against }, '--all', `--against ${against}`);
  return (
    <>
      <PricedActions label="Actions on the range" actions={actions} />
      {others.length > 0 && (
        <>
          <span class="field">
            <label for="against">Another source</label>
            <select id="against" value={against} onChange={({ currentTarget: { value } }) => setAgainst(value)}>
              {against === '' && <option value="">choose one</option>}
              <SourceOptions title="Have the series" names={namesOf(true)} />
              <SourceOptions title="May have it" names={namesOf(false)} />
            </select>
          </span>
          {against !== '' && <PricedActions key={against} label="Comparison" actions={[compare()]} isAskedFor />}
        </>
      )}
    </>
  );
}

/** A group for the reader of a long list; none where it is empty. */
function SourceOptions({ title, names }: { title: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <optgroup label={title}>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </optgroup>
  );
}

const isoOf = (timeMs: number) => new Date(timeMs).toISOString().replace('.000Z', 'Z');

/** The answers that led to what is known. */
function Evidence({
  found,
  zone,
  nowMs,
  hold,
}: {
  found: SeriesRange;
  zone: Zone;
  nowMs: number;
  hold: string | null;
}) {
  const { gaps, gapsInAll, silences, confirmed, fetches, coveredMs } = found;
  const { againOf } = useModel();
  const timeText = (timeMs: number) => timeIn(zone, timeMs);
  const listOf = <Found extends Range>(
    [title, why, caption]: readonly [title: string, why: string, caption: string],
    ranges: readonly Found[],
    textOf: (one: Found) => string,
  ) =>
    ranges.length > 0 && (
      <ListSection
        {...{ title, caption }}
        none=""
        titles={['From', 'To', 'Length', why]}
        rows={ranges.map((one) => [
          timeText(one.startMs),
          timeText(one.endMs),
          formatDuration(one.endMs - one.startMs),
          textOf(one),
        ])}
      />
    );
  const shownGaps =
    gapsInAll > gaps.length ? `The first ${gaps.length} of ${formatCount(gapsInAll)}` : counted(gapsInAll, 'gap');
  return (
    <>
      {listOf(['Why it is missing', 'Why', shownGaps], gaps, (gap) =>
        explainGap(gap, { nowMs, hold, againOf, timeText }),
      )}
      {listOf(['Silent, and covered', 'Proof', 'For far longer than usual'], silences, ({ proof }) => proof)}
      {listOf(
        ['Confirmed empty', 'Proof', 'Asked until two answers agreed that there is no value'],
        confirmed,
        (silence) => proofText(silence, timeText),
      )}
      <ListSection
        title="Answers that led to this"
        none={
          coveredMs === 0
            ? 'None of it has been requested, as far as the ledger goes back.'
            : 'No request for it is recorded: it was imported, or its requests are older than the ledger.'
        }
        caption="Newest first"
        titles={requestTitles}
        rows={fetches.map((one) => requestCells(one, timeText))}
      />
    </>
  );
}

/** `confirmed empty by the answers of … (empty) and … (confirmed empty)`; of older ones the time of the last. */
export function proofText(
  { answers, answeredMs }: SeriesRange['confirmed'][number],
  format: (timeMs: number) => string,
): string {
  const told = answers.map(({ timeMs, verdict }) => `${format(wholeSecond(timeMs))} (${verdictText(verdict)})`);
  if (told.length > 1) return `confirmed empty by the answers of ${told.join(' and ')}`;
  const last = told[0] ?? (answeredMs === null ? null : format(wholeSecond(answeredMs)));
  return `confirmed empty${last === null ? '' : `, the last answer at ${last}`}; older answers are not in the ledger`;
}
