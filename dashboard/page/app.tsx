/** The frame of the page, and the routing of its views. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../clock.ts';
import { BackfillsView } from './contents/backfills.tsx';
import { EventsView } from './contents/events.tsx';
import { ListPage } from './contents/list-page.tsx';
import { Overview } from './overview/overview.tsx';
import { Finder } from './parts/finder.tsx';
import { formatSecond } from './parts/format.ts';
import { State } from './parts/headline.tsx';
import { ProblemsView } from './problems/problems.tsx';
import { SeriesPage } from './series/series-page.tsx';
import { type Address, hrefOf, readAddress, type ViewName, withoutWrongTimes } from './state/address.ts';
import type { Connection } from './state/model.ts';
import { keepPlace, navigate, onNavigation } from './state/navigation.ts';
import { useModel } from './state/use-model.ts';

const links: ReadonlyArray<readonly [view: ViewName, title: string]> = [
  ['overview', 'Overview'],
  ['problems', 'Problems'],
  ['backfills', 'Backfills'],
  ['events', 'Events'],
];

interface Visit {
  readonly number: number;
  readonly address: Address;
  /** Where the page was left, on the way back to it; else null. */
  readonly placeY: number | null;
  /** Whether Back or Forward led to it from another choice of the same view. */
  readonly isWithin: boolean;
}

function visitNow(): Pick<Visit, 'address' | 'placeY'> {
  const search = withoutWrongTimes(location.search);
  // As it was, but for what cannot be shown: a reload or a bookmark has the same view.
  if (search !== location.search) history.replaceState(history.state, '', location.pathname + search + location.hash);
  const { scrollY: placeY = null } = (history.state ?? {}) as { scrollY?: number };
  return { address: readAddress(location.search), placeY };
}

/** Names the views that stay while their choices in the address change; null: the view begins anew. */
function stayOf({ view, seriesId }: Address): string | null {
  if (view === 'series') return `series ${seriesId}`;
  return view === 'overview' ? view : null;
}

export function App() {
  const main = useRef<HTMLElement>(null);
  const [visit, setVisit] = useState<Visit>(() => ({ ...visitNow(), number: 0, isWithin: false }));
  const { address, number, placeY, isWithin } = visit;
  useLayoutEffect(() => {
    const end = onNavigation((isBack) =>
      setVisit((before) => {
        const now = visitNow();
        const stay = stayOf(now.address);
        const isWithin = isBack && stay !== null && stay === stayOf(before.address);
        return { ...now, number: before.number + 1, isWithin };
      }),
    );
    document.addEventListener('click', takeClick);
    return () => {
      end();
      document.removeEventListener('click', takeClick);
    };
  }, []);
  useEffect(() => {
    const [, title] = links.find(([view]) => view === address.view) ?? [];
    if (title !== undefined) document.title = `${title} · Tidemark`;
    if (address.view === 'list') document.title = `${address.list} · Tidemark`;
    if (address.view === 'unknown') document.title = 'Not found · Tidemark';
    // The browser keeps the place and the focus.
    if (isWithin) return;
    // As on a page load: start at the top or at the named part, and let the next Tab go into the content.
    if (number > 0) {
      main.current?.focus({ preventScroll: true });
      if (placeY !== null) return showPlace(placeY);
      scrollTo(0, 0);
    }
    return showPart();
  }, [number]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header>
        <p class="name">Tidemark</p>
        <nav aria-label="Views">
          {links.map(([view, title]) => (
            <a key={view} href={hrefOf({ view })} aria-current={view === address.view ? 'page' : undefined}>
              {title}
            </a>
          ))}
          <a href="docs">Interface</a>
          <a href="keys">Keys</a>
        </nav>
        <Finder links={links} />
        <Status />
      </header>
      <State />
      <main id="main" tabIndex={-1} ref={main}>
        <View key={stayOf(address) ?? number} address={address} visit={number} />
      </main>
      <footer>
        <p>
          {'TradingView Lightweight Charts™, © TradingView, Inc. '}
          <a href="https://www.tradingview.com/" rel="noreferrer">
            https://www.tradingview.com/
          </a>
          {'; Preact. '}
          <a href="dashboard/licences.txt">Licences</a>
        </p>
      </footer>
    </>
  );
}

/** @param visit changes when the address may have other choices. */
function View({ address, visit }: { address: Address; visit: number }) {
  switch (address.view) {
    case 'series':
      return <SeriesPage id={address.seriesId} visit={visit} />;
    case 'problems':
      return <ProblemsView />;
    case 'backfills':
      return <BackfillsView />;
    case 'events':
      return <EventsView />;
    case 'list':
      return <ListPage name={address.list} />;
    case 'unknown':
      return (
        <>
          <h1>Not found</h1>
          <p class="bad" role="alert">
            The page has no such view.
          </p>
        </>
      );
    default:
      return <Overview visit={visit} />;
  }
}

const words: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting.',
  live: 'Live',
  trouble: 'The store cannot be read.',
  lost: 'Not connected, trying again.',
  paused: 'Not connected while the page is hidden.',
};

/** Whether the page is connected, and whether its data are synthetic. */
export function Status() {
  const { summary, connection } = useModel();
  const since =
    summary !== null && connection !== 'live' ? ` Showing the state as of ${formatSecond(summary.nowMs)}.` : '';
  return (
    <>
      {summary?.synthetic === true && <strong class="synthetic">synthetic data</strong>}
      <p class="connection" role="status" data-state={connection}>
        {words[connection] + since}
      </p>
    </>
  );
}

/** Follows a link to another view without a page load. */
function takeClick(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (link === null || !isPlain || link.origin !== location.origin) return;
  if (link.pathname !== location.pathname) return;
  if (link.hash !== '' && link.search === location.search) {
    keepPlace();
    return;
  }
  event.preventDefault();
  navigate(link.href, link);
}

/** Scrolls to the part that the address names, as soon as it is there. @returns ends the wait for it. */
function showPart(): () => void {
  const id = location.hash.slice(1);
  if (id === '') return () => {};
  return untilShown(() => {
    const part = document.getElementById(id);
    part?.scrollIntoView();
    // What can have the focus gets it, so that the next Tab goes on there.
    part?.focus({ preventScroll: true });
    // What is folded opens, and its first field gets it.
    if (part instanceof HTMLDetailsElement) {
      part.open = true;
      part.querySelector<HTMLElement>('input, select')?.focus();
    }
    return part !== null;
  });
}

/** Parts that load after the place was reached may make the page shorter, and longer again. */
const settledAfterMs = 5000;

/** Scrolls to where the page was left, as soon as it is long enough, and stays there. @returns ends that. */
function showPlace(placeY: number): () => void {
  let reachedMs: number | null = null;
  return untilShown(() => {
    scrollTo(0, placeY);
    if (scrollY < placeY - 1) return false;
    reachedMs ??= systemClock.now();
    return systemClock.now() - reachedMs > settledAfterMs;
  });
}

/**
 * However long the page takes to load, until its reader moves it.
 *
 * @param scroll returns false while it has to be tried again. @returns ends that.
 */
function untilShown(scroll: () => boolean): () => void {
  if (scroll()) return () => {};
  const waiting = new MutationObserver(() => {
    if (scroll()) waiting.disconnect();
  });
  waiting.observe(document.body, { childList: true, subtree: true });
  const end = () => waiting.disconnect();
  for (const type of ['wheel', 'pointerdown', 'keydown']) addEventListener(type, end, { once: true, passive: true });
  return end;
}
