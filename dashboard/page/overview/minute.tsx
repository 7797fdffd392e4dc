/** The requests of one minute: what was asked of whom, for which series, and how it was answered. */

import { minuteMs } from '../../../model/intervals.ts';
import { verdictText } from '../../../model/reasons.ts';
import type { MinuteRequests } from '../../shapes.ts';
import { counted, formatCount } from '../parts/format.ts';
import { LoadFailure } from '../parts/loaded-page.tsx';
import { Panel } from '../parts/panel.tsx';
import { requestCells, requestTitles } from '../parts/requests.ts';
import { SeriesLink } from '../parts/series-link.tsx';
import { Table } from '../parts/table.tsx';
import { fetchRequests } from '../state/server.ts';
import { useLoaded } from '../state/use-model.ts';

/** @param requests of the minute, as counted so far: a change has them read again. @param onChange null: closes. */
export function Minute({
  minute,
  requests,
  onChange,
}: {
  minute: number;
  requests: number | undefined;
  onChange: (minute: number | null) => void;
}) {
  const [loaded] = useLoaded(() => fetchRequests(minute), [minute, requests]);
  // Of the minute before, until the new one is read.
  const found = loaded.kind !== 'loading' && loaded.value?.startMs === minute ? loaded.value : null;
  return (
    <Panel id="minute" label="Requests of a minute" onClose={() => onChange(null)}>
      <h3>{`Requests of the minute ${new Date(minute).toISOString().slice(0, 16).replace('T', ' ')}Z`}</h3>
      <p class="controls">
        <button type="button" onClick={() => onChange(minute - minuteMs)}>
          Minute before
        </button>
        <button type="button" onClick={() => onChange(minute + minuteMs)}>
          Minute after
        </button>
        <button type="button" onClick={() => onChange(null)}>
          Close
        </button>
      </p>
      <LoadFailure of={loaded} />
      {found === null ? loaded.kind !== 'failed' && <p>Loading.</p> : <Requests found={found} />}
    </Panel>
  );
}

export function Requests({ found: { counts, requests } }: { found: MinuteRequests }) {
  const all = counts.reduce((sum, one) => sum + one.requests, 0);
  if (all === 0) return <p>None is recorded.</p>;
  return (
    <>
      <p role="status">
        {`${counted(all, 'request')}. By answer: ${sums(counts, ({ verdict }) => verdictText(verdict))}. ` +
          `By source: ${sums(counts, ({ source }) => source)}.`}
      </p>
      <Table
        caption={all > requests.length ? `The newest ${requests.length} of ${formatCount(all)}` : 'Newest first'}
        titles={[requestTitles[0] ?? '', 'Series or list', ...requestTitles.slice(1), 'HTTP']}
        rows={requests.map((one) => {
          const [at = '', ...cells] = requestCells(one);
          const name = one.seriesId === null ? one.name : <SeriesLink id={one.seriesId} name={one.name} />;
          return [at, name, ...cells, one.status === null ? '' : String(one.status)];
        })}
      />
    </>
  );
}

/** `40 filled, 2 rate limited`, the most first. */
function sums(counts: MinuteRequests['counts'], nameOf: (one: MinuteRequests['counts'][number]) => string): string {
  const found = new Map<string, number>();
  for (const one of counts) found.set(nameOf(one), (found.get(nameOf(one)) ?? 0) + one.requests);
  return [...found]
    .sort(([, one], [, other]) => other - one)
    .map(([name, requests]) => `${formatCount(requests)} ${name}`)
    .join(', ');
}
