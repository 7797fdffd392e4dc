/** The entry of the page: its frame, the routing of views, and the event stream. */

import { takeToken } from './actions.ts';
import { hrefOf, readAddress, type ViewName } from './address.ts';
import { element, fill, setText } from './element.ts';
import { formatSecond } from './format.ts';
import { headline } from './headline.ts';
import { type Connection, Model, type View } from './model.ts';
import { overview } from './overview.ts';
import { problems } from './problems.ts';
import { seriesPage } from './series-page.ts';
import { listen } from './server.ts';

takeToken();
const model = new Model();
const main = element('main', { id: 'main', tabindex: -1 });
const connection = element('p', { class: 'connection', role: 'status' });
const synthetic = element('strong', { class: 'synthetic', hidden: true }, 'synthetic data');
const links: ReadonlyArray<readonly [ViewName, HTMLAnchorElement]> = [
  ['overview', element('a', { href: './' }, 'Overview')],
  ['problems', element('a', { href: hrefOf({ view: 'problems' }) }, 'Problems')],
];

document.body.append(
  element('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
  element(
    'header',
    {},
    element('p', { class: 'name' }, 'Tidemark'),
    element('nav', { 'aria-label': 'Views' }, ...links.map(([, link]) => link)),
    synthetic,
    connection,
  ),
  headline(model),
  main,
  element(
    'footer',
    {},
    element(
      'p',
      {},
      'TradingView Lightweight Charts™, © TradingView, Inc. ',
      element(
        'a',
        { href: 'https://www.tradingview.com/', rel: 'noreferrer' },
        'https://www.tradingview.com/',
      ),
      '; uPlot. ',
      element('a', { href: 'dashboard/licences.txt' }, 'Licences'),
      ' · ',
      element('a', { href: 'docs' }, 'The service'),
    ),
  ),
);

const words: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting.',
  live: 'Live',
  trouble: 'The store cannot be read.',
  lost: 'Not connected, trying again.',
  paused: 'Not connected while the page is hidden.',
};

function showConnection(): void {
  const { summary } = model;
  const since =
    summary !== null && model.connection !== 'live'
      ? ` Showing the state as of ${formatSecond(summary.nowMs)}.`
      : '';
  connection.dataset.state = model.connection;
  setText(connection, words[model.connection] + since);
  synthetic.hidden = summary?.synthetic !== true;
}
model.onChange(showConnection);
showConnection();

let shown: View | null = null;

function show(moveFocus: boolean): void {
  shown?.end();
  const address = readAddress(location.search);
  fill(main);
  if (address.view === 'series') shown = seriesPage(main, model, address.seriesId);
  else if (address.view === 'problems') shown = problems(main, model);
  else shown = overview(main, model);
  document.title = `${shown.title} · Tidemark`;
  for (const [view, link] of links) {
    if (view === address.view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  // As on a page load: start at the top or at the named part, and let the next Tab go into the content.
  if (moveFocus) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  showPart();
}

/** Scrolls to the part that the address names, as soon as it is there. */
function showPart(): void {
  const id = location.hash.slice(1);
  if (id === '') return;
  const scroll = () => {
    const part = document.getElementById(id);
    part?.scrollIntoView();
    return part !== null;
  };
  if (scroll()) return;
  const waiting = new MutationObserver(() => {
    if (scroll()) waiting.disconnect();
  });
  waiting.observe(main, { childList: true, subtree: true });
  setTimeout(() => waiting.disconnect(), 5000);
}

document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (link === null || !isPlain || link.origin !== location.origin) return;
  if (link.pathname !== location.pathname || (link.hash !== '' && link.search === location.search)) return;
  event.preventDefault();
  history.pushState(null, '', link.href);
  show(true);
});
addEventListener('popstate', () => show(true));

show(false);
listen(model);
