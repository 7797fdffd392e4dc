/** The overview: progress, freshness, load, coverage, polled lists, and every series with its band. */

import { ActionBar, commonActions, TrackForm } from '../parts/actions.tsx';
import { CommonCalendar } from '../parts/calendar.tsx';
import { Section } from '../parts/table.tsx';
import { backfillProgress } from '../state/model.ts';
import { useModel } from '../state/use-model.ts';
import { BeginHere } from './begin-here.tsx';
import { Budget } from './budget.tsx';
import { Lists } from './lists.tsx';
import { Matrix } from './matrix.tsx';
import { progressWords } from './progress.ts';
import { SeriesList } from './series-list.tsx';
import { Sources } from './sources.tsx';
import { Storage } from './storage.tsx';
import { Tiles } from './tiles.tsx';

export function Overview({ visit = 0 }: { visit?: number }) {
  const { summary, series, connection } = useModel();
  if (summary === null)
    return (
      <>
        <h1>Overview</h1>
        <p class="waiting">{connection === 'trouble' ? 'The store cannot be read.' : 'Loading.'}</p>
      </>
    );
  const lines = [...series.values()];
  const done = backfillProgress(lines);
  const { state } = summary;
  return (
    <>
      <h1>Overview</h1>
      {lines.length === 0 && <BeginHere />}
      <Section id="backfill" title="Backfill">
        <progress
          max={1}
          value={state.wantedMs === 0 ? 1 : state.coveredMs / state.wantedMs}
          aria-labelledby="progress-text"
        />
        <p id="progress-text">{progressWords(lines.length, done, summary)}</p>
      </Section>
      <Tiles lines={lines} summary={summary} />
      <Matrix />
      <Budget summary={summary} visit={visit} />
      <Sources sources={summary.sources} />
      <SeriesList visit={visit} />
      {lines.length > 0 && <CommonCalendar lines={lines} />}
      <Section id="actions" title="Actions">
        <ActionBar label="All series" actions={commonActions} />
        <TrackForm />
      </Section>
      <Lists lists={summary.lists} />
      <Storage />
    </>
  );
}
