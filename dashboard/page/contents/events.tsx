/** What happened: outages, bans, revisions, upgrades, actions. */

import type { StoredEvent } from '../../shapes.ts';
import { formatSecond } from '../parts/format.ts';
import { LoadedPage } from '../parts/loaded-page.tsx';
import { lengthOf } from '../parts/marks.tsx';
import { SeriesLink } from '../parts/series-link.tsx';
import { ListSection } from '../parts/table.tsx';
import { fetchEvents } from '../state/server.ts';

export function EventsView() {
  return (
    <LoadedPage title="Events" load={fetchEvents}>
      {(events) => <EventList events={events} />}
    </LoadedPage>
  );
}

function EventList({ events }: { events: readonly StoredEvent[] }) {
  return (
    <ListSection
      title="Log"
      none="Nothing is recorded."
      caption={
        'Newest first: outages, bans, pauses and revisions of the last seven days, and the newest upgrades, ' +
        'actions and untracked series'
      }
      titles={['When', 'Lasted', 'What', 'Event']}
      rows={events.map((event) => [
        formatSecond(event.timeMs),
        lengthOf(event),
        event.kind,
        <>
          {event.seriesId !== null && event.name !== null && (
            <>
              <SeriesLink id={event.seriesId} name={event.name} />
              {': '}
            </>
          )}
          {event.text}
        </>,
      ])}
    />
  );
}
