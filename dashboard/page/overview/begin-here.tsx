/** Three steps for a store in which nothing is tracked. */

import { Copyable } from '../parts/copyable.tsx';
import { Section } from '../parts/table.tsx';

const backfill =
  'npx tidemark backfill candles --exchange binance --base bitcoin --quote tether --interval h1 --from 1y';

export const steps: ReadonlyArray<readonly [says: string, command: string]> = [
  ['List the sources, with their limits and how much of them is used.', 'npx tidemark sources'],
  ['See the cost of a backfill: requests, time and disk. Nothing is stored.', `${backfill} --dry-run`],
  ['Fetch it. This page shows the progress, and SQL has each window as soon as it is committed.', backfill],
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
