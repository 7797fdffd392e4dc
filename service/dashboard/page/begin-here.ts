/** Three steps for a store in which nothing is tracked. */

import { element, section } from './element.ts';

const steps: ReadonlyArray<readonly [says: string, command: string]> = [
  ['Look what the source has, and choose a market.', 'npx tidemark sources'],
  [
    'See what a backfill would cost: requests, time and disk. Nothing is stored.',
    'npx tidemark plan candles --exchange binance --base bitcoin --quote tether --interval h1 --from 1y',
  ],
  [
    'Fetch it. This page shows the progress, and SQL has each window as soon as it is committed.',
    'npx tidemark backfill candles --exchange binance --base bitcoin --quote tether --interval h1 --from 1y',
  ],
];

export function beginHere(): HTMLElement {
  const items = steps.map(([says, command]) => element('li', {}, element('p', {}, says), copyable(command)));
  return section('begin', 'Begin here', element('ol', { class: 'steps' }, ...items));
}

/** A command with a button that copies it, where the browser allows that. */
export function copyable(command: string): HTMLElement {
  const copy = element('button', { type: 'button' }, 'Copy');
  copy.addEventListener('click', () => {
    void navigator.clipboard.writeText(command).then(
      () => copy.replaceChildren('Copied'),
      () => copy.replaceChildren('Cannot copy'),
    );
  });
  const isOffered = 'clipboard' in navigator;
  return element('p', { class: 'command' }, element('code', {}, command), ...(isOffered ? [' ', copy] : []));
}
