/** The page of one series: its chart and its details. */

import { useEffect, useState } from 'preact/hooks';
import { nonEmpty } from '../../../model/format.ts';
import type { Range } from '../../../model/intervals.ts';
import { describeBlocked, explainGap } from '../../../model/reasons.ts';
import { recencyText } from '../../../planning/periods.ts';
import type { SeriesDetail, SeriesLine } from '../../shapes.ts';
import { actionsOf } from '../parts/actions.tsx';
import { BandView, describeBand, Legend } from '../parts/band.tsx';
import { SeriesCalendar } from '../parts/calendar.tsx';
import { counted, describeCoverage, formatCount, formatDuration, formatSecond, formatTime } from '../parts/format.ts';
import { bandColumns } from '../parts/layers.ts';
import { LoadFailure } from '../parts/loaded-page.tsx';
import { PricedActions } from '../parts/priced-actions.tsx';
import { reasonAt } from '../parts/reasons.ts';
import { requestCells, requestTitles } from '../parts/requests.ts';
import { SeriesLink } from '../parts/series-link.tsx';
import { ListSection } from '../parts/table.tsx';
import { hrefOf, readAddress } from '../state/address.ts';
import { choose } from '../state/navigation.ts';
import { fetchBands, fetchDetail, RequestError } from '../state/server.ts';
import { useLoaded, useModel } from '../state/use-model.ts';
import { ChartSection } from './chart-section.tsx';
import { ChosenRange } from './chosen-range.tsx';
import type { Zone } from './zone.ts';

/** @param visit changes when the address may have other choices. */
export function SeriesPage({ id, visit }: { id: number; visit: number }) {
  const model = useModel();
  const line = model.series.get(id);
  // Before the first event there is no version to compare, and everything would be requested twice.
  const isKnown = model.summary !== null || model.isAway;
  const [chosen, setChosen] = useState(() => readAddress(location.search).chosen);
  useEffect(() => setChosen(readAddress(location.search).chosen), [visit]);
  const [zone, setZone] = useState<Zone>('utc');
  const chooseRange = (range: Range | null) => {
    setChosen(range);
    choose(hrefOf({ ...readAddress(location.search), chosen: range }));
  };
  const inputs = [id, line?.version, line?.failedMs, line?.awaitingMs];
  const [loaded] = useLoaded(() => fetchSeries(id), inputs, isKnown);
  const { detail = null, band = null } = (loaded.kind === 'loading' ? null : loaded.value) ?? {};
  const isUnknown = loaded.kind === 'loaded' && detail === null;
  const isTracked = detail?.untrackedMs === null;
  const name = detail?.name ?? line?.name ?? `Series ${id}`;
  useEffect(() => {
    document.title = `${name} · Tidemark`;
  }, [name]);
  return (
    <>
      <h1>{name}</h1>
      <p class="facts">{line !== undefined && factsOf(line, model.nowMs())}</p>
      {detail !== null && (
        <ChartSection key={id} {...{ detail, line, visit, chosen }} onChoose={chooseRange} onZone={setZone} />
      )}
      {/* Of the height of the chart, so that what follows does not move. */}
      {loaded.kind === 'loading' && <p class="waiting chart-waiting">Loading.</p>}
      {!isUnknown && (
        <>
          <BandView
            band={band}
            label={line === undefined ? 'coverage' : describeBand(line, model.nowMs())}
            reasonAt={(timeMs) => reasonAt(detail, timeMs, model)}
          />
          <Legend />
        </>
      )}
      {detail !== null && chosen !== null && (
        <ChosenRange
          key={`${chosen.startMs} ${chosen.endMs}`}
          {...{ detail, zone }}
          range={chosen}
          onClose={() => chooseRange(null)}
        />
      )}
      <LoadFailure of={loaded} />
      {isUnknown && (
        <p class="bad" role="alert">
          {`There is no series with the id ${id}.`}
        </p>
      )}
      {detail !== null && (
        <>
          <SeriesActions key={detail.id} detail={detail} />
          {isTracked && <SeriesCalendar id={id} line={line} />}
          <Parts detail={detail} nowMs={model.nowMs()} hold={model.holdOf(detail)} />
        </>
      )}
    </>
  );
}

/** Costs are read once it is opened. */
function SeriesActions({ detail: { id, name, untrackedMs } }: { detail: SeriesDetail }) {
  const [isOpen, setOpen] = useState(false);
  const isTracked = untrackedMs === null;
  // The result of the action that untracked it stays.
  if (!isTracked && !isOpen) return null;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{isTracked ? 'Act on this series' : 'No longer tracked'}</summary>
      {isOpen && <PricedActions label="Actions on the series" actions={isTracked ? actionsOf(id, name) : []} />}
    </details>
  );
}

/** @returns null: there is no such series. */
async function fetchSeries(id: number) {
  const bands = fetchBands([id], bandColumns, null);
  // The answer about the series says whether there is one.
  bands.catch(() => {});
  try {
    const detail = await fetchDetail(id);
    const [band = null] = await bands;
    return { detail, band };
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return null;
    throw error;
  }
}

function factsOf(line: SeriesLine, nowMs: number): string {
  return nonEmpty([
    describeCoverage(line, nowMs),
    line.gaps > 0 ? `${counted(line.gaps, 'gap')} of ${formatDuration(line.missingMs)}` : '',
    line.gaps === 0 && line.wantedMs > 0 ? 'no gap' : '',
    counted(line.points, 'point'),
    recencyText(line, nowMs),
    line.revised > 0 ? `${formatCount(line.revised)} revised` : '',
    line.blocked === null ? '' : describeBlocked(line.blocked),
  ]).join(' · ');
}

export function Parts({ detail, nowMs, hold }: { detail: SeriesDetail; nowMs: number; hold: string | null }) {
  const { againOf } = useModel();
  const { id, gaps, gapsInAll, fetches, revisions, rejections, fromMs, toMs, untrackedMs, unknown } = detail;
  return (
    <>
      <p>
        {untrackedMs === null
          ? `Tracked from ${formatTime(fromMs)} ${toMs === null ? 'on' : `to ${formatTime(toMs)}`}.`
          : `Not asked for any more since ${formatSecond(untrackedMs)}${
              unknown === null ? '. What is stored stays.' : `, as the source does not know it: ${unknown}`
            }`}
      </p>
      <ListSection
        title="Gaps"
        none={untrackedMs === null ? 'None.' : 'An untracked series has none: nothing of it is wanted.'}
        caption={
          gapsInAll > gaps.length
            ? `The newest ${formatCount(gaps.length)} of ${formatCount(gapsInAll)}`
            : `${counted(gapsInAll, 'gap')}, cut where the reason changes; each opens its range`
        }
        titles={['From', 'To', 'Length', 'Why']}
        rows={gaps.map((gap) => [
          <SeriesLink key="gap" id={id} name={formatTime(gap.startMs)} range={gap} />,
          formatTime(gap.endMs),
          formatDuration(gap.endMs - gap.startMs),
          explainGap(gap, { nowMs, hold, againOf }),
        ])}
      />
      <ListSection
        title="Last requests"
        none="None is recorded."
        caption="Newest first"
        titles={requestTitles}
        rows={fetches.map((one) => requestCells(one))}
      />
      <ListSection
        title="Revisions"
        none="The source revised no stored value."
        caption="Old values of revisions, newest first"
        titles={['Of', 'Until', 'Before']}
        rows={revisions.map((one) => [
          formatTime(one.timeMs),
          formatSecond(one.seenAtMs),
          Object.entries(one.before)
            .map(([column, value]) => `${column} ${value}`)
            .join(', '),
        ])}
      />
      <ListSection
        title="Quarantine"
        none="Empty."
        caption="Rejected rows, newest first"
        titles={['Seen', 'Reason', 'Row']}
        rows={rejections.map((one) => [formatSecond(one.seenAtMs), one.reason, <code key="row">{one.raw}</code>])}
      />
    </>
  );
}
