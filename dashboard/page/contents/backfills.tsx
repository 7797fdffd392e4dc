/** What asks for ranges: who, how far it is, its answers and failures, and its end. */

import { madeText } from '../../../planning/progress.ts';
import type { BackfillLine } from '../../shapes.ts';
import { ActionBar, cancelOf, namesOf } from '../parts/actions.tsx';
import { counted, formatSecond, formatTime } from '../parts/format.ts';
import { LoadedPage } from '../parts/loaded-page.tsx';
import { type Cell, ListSection } from '../parts/table.tsx';
import { fetchBackfills } from '../state/server.ts';
import { useModel } from '../state/use-model.ts';

/** It is loaded again as the state of the page changes, at most so often. */
const againMs = 5000;

export function BackfillsView() {
  const model = useModel();
  const look = Math.floor((model.summary?.nowMs ?? 0) / againMs);
  return (
    <LoadedPage title="Backfills" load={fetchBackfills} inputs={[look]}>
      {(lines) => <Backfills lines={lines} />}
    </LoadedPage>
  );
}

export function Backfills({ lines }: { lines: readonly BackfillLine[] }) {
  const open = lines.filter(({ progress }) => progress !== null);
  return (
    <>
      <ListSection
        title="Going on"
        none="Nothing is asked for that is not covered."
        caption="Commands, the dashboard and the watch list; a scheduler goes on with what is tracked"
        titles={['What', 'Asked', 'Progress', 'Requests', 'Cancel']}
        keys={open.map(({ id }) => id)}
        rows={open.map((line) => [
          whatOf(line),
          askedOf(line),
          `${line.state}: ${[line.progress, line.result].filter(Boolean).join('; ')}`,
          answersOf(line),
          cancelCell(line),
        ])}
      />
      <ListSection
        title="Ended"
        none="None yet."
        caption="The newest first"
        titles={['What', 'Asked', 'Ended', 'Result']}
        rows={lines
          .filter(({ progress }) => progress === null)
          .map((line) => [
            whatOf(line),
            askedOf(line),
            line.endedMs === null ? '' : formatSecond(line.endedMs),
            endOf(line),
          ])}
      />
    </>
  );
}

function whatOf(line: BackfillLine): string {
  const { id, kind, fromMs, toMs } = line;
  const range = fromMs === null || toMs === null ? '' : `, ${formatTime(fromMs)} to ${formatTime(toMs)}`;
  return `${kind.replace('_', ' ')} ${id}: ${namesOf(line)}${range}`;
}

/** `cancelled by …`: its result begins with the state; others are told after theirs. */
function endOf({ state, result }: BackfillLine): string {
  if (result === null) return state;
  return result.startsWith(state) ? result : `${state}: ${result}`;
}

const askedOf = ({ askedMs, by }: BackfillLine) => `${formatSecond(askedMs)} by ${by}`;

function answersOf({ answers }: BackfillLine): Cell {
  if (answers === null) return '';
  const { failures } = answers;
  return (
    <>
      {madeText(answers)}
      {failures.slice(0, 3).map(({ kind, requests, message }) => (
        <p key={kind} class="bad">{`${counted(requests, 'request')} failed, ${kind}: ${message}`}</p>
      ))}
    </>
  );
}

function cancelCell(line: BackfillLine): Cell {
  const action = cancelOf(line);
  if (action === null) return 'change the watch list';
  return <ActionBar key={line.id} label={action.title} actions={[action]} />;
}
