import type { ActionLine, Problems } from '../../shapes.ts';
import { counted, formatCount, formatSecond, formatTime } from '../parts/format.ts';
import { LoadedPage } from '../parts/loaded-page.tsx';
import { SeriesLink } from '../parts/series-link.tsx';
import { ListSection, Section, Table } from '../parts/table.tsx';
import { fetchActions, fetchProblems } from '../state/server.ts';

export function ProblemsView() {
  return (
    <LoadedPage title="Problems" load={() => Promise.all([fetchProblems(), fetchActions()])}>
      {([found, actions]) => <Sections found={found} actions={actions} />}
    </LoadedPage>
  );
}

export function Sections({
  found: { failing, failingInAll, causes, errors, quarantine, revised, jobs, locks },
  actions,
}: {
  found: Problems;
  actions: readonly ActionLine[];
}) {
  return (
    <>
      <Section id="part-failing" title="Failing">
        {causes.length === 0 ? (
          <p>Nothing fails.</p>
        ) : (
          <p>
            {failingInAll > failing.length
              ? `The first ${formatCount(failing.length)} of ${formatCount(failingInAll)}: series that the source ` +
                'refuses, then the newest failures'
              : `${formatCount(failingInAll)} in all`}
          </p>
        )}
        {causes.map((cause) => (
          <Cause
            key={cause.message}
            cause={cause}
            ranges={failing.filter(({ message }) => message === cause.message)}
          />
        ))}
      </Section>
      <ListSection
        title="Failed requests"
        none="None in the last hour."
        caption="The last hour, by kind"
        titles={['Kind', 'Requests', 'Newest', 'Message']}
        rows={errors.map((one) => [one.kind, formatCount(one.requests), formatSecond(one.newestMs), one.message])}
      />
      <Section id="part-locks" title="Locks">
        <p>
          {locks.statements === 0
            ? 'No statement waits for a lock.'
            : `Statements that wait: ${formatCount(locks.statements)}. Held by: ` +
              `${locks.holders.join(', ') || 'not known'}.`}
        </p>
      </Section>
      <ListSection
        title="Database jobs"
        none="No job fails."
        caption="TimescaleDB background jobs that fail or that no worker runs; the scheduler does their work"
        titles={['Job', 'Of', 'Last run', 'Failures', 'Message']}
        rows={jobs.map((one) => [
          one.kind,
          one.of ?? '',
          one.lastRunMs === null ? 'never' : formatSecond(one.lastRunMs),
          formatCount(one.failures),
          one.message,
        ])}
      />
      <ListSection
        title="Quarantine"
        none="Empty: no row was rejected."
        caption="The newest rejected rows, also of periods that have a point by now"
        titles={['Of', 'Seen', 'Reason', 'Row']}
        rows={quarantine.map((one) => [
          one.seriesId === null || one.name === null ? (
            one.dataset
          ) : (
            <SeriesLink key="series" id={one.seriesId} name={one.name} />
          ),
          formatSecond(one.seenAtMs),
          one.reason,
          <code key="row">{one.raw}</code>,
        ])}
      />
      <ListSection
        title="Revisions"
        none="The source revised no stored value."
        caption="Revised values; the page of a series lists the newest"
        titles={['Series', 'Values']}
        rows={revised.map((one) => [
          <SeriesLink key="series" id={one.seriesId} name={one.name} />,
          formatCount(one.values),
        ])}
      />
      <ListSection
        title="Actions"
        none="None at this dashboard."
        caption="The newest, of all processes"
        titles={['Action', 'When', 'By', 'Result']}
        rows={actions.map(({ action, timeMs, userName, address, state, result, progress }) => [
          action,
          formatSecond(timeMs),
          userName === null ? address : `${userName} at ${address}`,
          state === 'running'
            ? `running${progress === null ? '' : `: ${progress.done} of ${progress.of}`}`
            : `${state}: ${result ?? ''}`,
        ])}
      />
    </>
  );
}

/** Ranges of a cause that are shown without being asked for. */
const unfolded = 20;

/** What failed for one reason. */
function Cause({
  cause: { message, series, ranges: inAll, nextMs, isRefused },
  ranges,
}: {
  cause: Problems['causes'][number];
  ranges: Problems['failing'];
}) {
  // They are tried again by themselves; a refused name is a mistake of the watch list more often than of the source.
  const remedy = isRefused ? 'tidemark untrack SERIES' : 'tidemark retry';
  return (
    <details class="cause" open={ranges.length <= unfolded}>
      <summary>
        <strong>{message}</strong>
        {` ${formatCount(series)} series, ${counted(inAll, 'range')}. Next attempt ${formatSecond(nextMs)}. ` +
          'What helps: '}
        <code>{remedy}</code>
      </summary>
      <Table
        caption={ranges.length < inAll ? `The first ${formatCount(ranges.length)}` : 'All of them'}
        titles={['Series', 'From', 'To', 'Next attempt']}
        rows={ranges.map(({ seriesId, name, window, retryMs }) => [
          <SeriesLink key="series" id={seriesId} name={name} range={window} />,
          window === null ? 'the whole series' : formatTime(window.startMs),
          window === null ? '' : formatTime(window.endMs),
          formatSecond(retryMs),
        ])}
      />
    </details>
  );
}
