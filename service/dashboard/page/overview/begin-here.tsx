/** Three steps for a store in which nothing is tracked. */

import { Copyable } from '../parts/copyable.tsx';
import { Section } from '../parts/table.tsx';

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

export function BeginHere() {
  return (
    <Section id="begin" title="Begin here">
      <ol class="steps">
        {steps.map(([says, command]) => (
          <li key={command}>
            <p>{says}</p>
            <Copyable command={command} />
          </li>
        ))}
      </ol>
    </Section>
  );
}
