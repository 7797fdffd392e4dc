/** The sources of tracked series: each with its use and state, what can be ordered for it, and what it refused. */

import { useState } from 'preact/hooks';
import type { Answers, SourceLine } from '../../shapes.ts';
import { formatTime } from '../parts/format.ts';
import { LoadFailure } from '../parts/loaded-page.tsx';
import { BudgetOf, pauseOf, resetBudget } from '../parts/source-orders.tsx';
import { Section, Table } from '../parts/table.tsx';
import { fetchRefusals } from '../state/server.ts';
import { useLoaded } from '../state/use-model.ts';

export function Sources({ sources }: { sources: readonly SourceLine[] }) {
  return (
    <Section id="sources" title="Sources" hidden={sources.length === 0}>
      {sources.map((source) => (
        <SourcePanel key={source.name} source={source} />
      ))}
    </Section>
  );
}

function SourcePanel({ source }: { source: SourceLine }) {
  const [isOpen, setOpen] = useState(false);
  const { name, text, isLowered } = source;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{`${name}: ${text}`}</summary>
      {isOpen && (
        <>
          <BudgetOf name={name} more={[...(isLowered ? [resetBudget(name)] : []), pauseOf(source)]} />
          <Refusals source={name} />
        </>
      )}
    </details>
  );
}

function Refusals({ source }: { source: string }) {
  const [loaded] = useLoaded(() => fetchRefusals(source), [source]);
  if (loaded.kind !== 'loaded') return <LoadFailure of={loaded} />;
  return <RefusalList found={loaded.value} />;
}

export function RefusalList({ found }: { found: Answers['refusals'] }) {
  if (found.length === 0) return <p>It has refused no request in the ledger.</p>;
  return (
    <details>
      <summary>The last requests that it refused</summary>
      <Table
        caption="The newest first"
        titles={['Time', 'Kind', 'Series', 'From', 'To', 'Message']}
        rows={found.map(({ timeMs, kind, status, series, range, message }) => [
          formatTime(timeMs),
          status === null ? kind : `${kind} (${status})`,
          series ?? '',
          range === null ? '' : formatTime(range.startMs),
          range === null ? '' : formatTime(range.endMs),
          message,
        ])}
      />
    </details>
  );
}
