/** The sources of tracked series: each with its use and state, what can be ordered for it, and what it refused. */

import { useState } from 'preact/hooks';
import type { Answers, SourceLine } from '../../shapes.ts';
import { type Action, ActionBar } from '../parts/actions.tsx';
import { formatCount, formatTime } from '../parts/format.ts';
import { LoadFailure } from '../parts/loaded-page.tsx';
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

const command = (words: string) => `npx tidemark sources ${words}`;
const largestBudget = 1_000_000;

/** Never null, which would take the limit back. @param text of the field. */
export function changeBudget(name: string, text: string): Action {
  const perMinute = /^\d+$/.test(text) ? Number(text) : 0;
  const given = { title: `Change the budget of ${name}`, action: 'budget', command: command(`budget ${name} ${text}`) };
  if (perMinute >= 1 && perMinute <= largestBudget) return { ...given, body: { source: name, perMinute } };
  const problem = `give a whole number of requests a minute, from 1 to ${formatCount(largestBudget)}`;
  return { ...given, body: { source: name }, problem };
}

function SourcePanel({ source: { name, text, isPaused, isLowered } }: { source: SourceLine }) {
  const [isOpen, setOpen] = useState(false);
  const [perMinute, setPerMinute] = useState('');
  const pause: Action = isPaused
    ? { ...{ title: `Resume ${name}`, action: 'resume', body: { source: name } }, command: command(`resume ${name}`) }
    : {
        ...{ title: `Pause ${name}`, action: 'pause', body: { source: name }, command: command(`pause ${name}`) },
        confirm: `Pause ${name}, on all machines?`,
      };
  const reset: Action = {
    ...{ title: `Reset the budget of ${name}`, action: 'budget', body: { source: name, perMinute: null } },
    command: command(`budget ${name} --reset`),
  };
  const id = `budget-of-${name}`;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{`${name}: ${text}`}</summary>
      {isOpen && (
        <>
          <span class="field">
            <label for={id}>requests a minute</label>
            <input
              id={id}
              inputmode="numeric"
              autocomplete="off"
              value={perMinute}
              onInput={({ currentTarget }) => setPerMinute(currentTarget.value.trim())}
            />
          </span>
          <ActionBar label={name} actions={[changeBudget(name, perMinute), ...(isLowered ? [reset] : []), pause]} />
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
