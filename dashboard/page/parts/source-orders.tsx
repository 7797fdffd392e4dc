/** What can be ordered for a source: a pause, and a lower budget. */

import { useId, useState } from 'preact/hooks';
import { shellCommand } from '../../../model/format.ts';
import type { SourceLine } from '../../shapes.ts';
import { type Action, ActionBar } from './actions.tsx';
import { formatCount } from './format.ts';

const command = (...words: string[]) => shellCommand('npx', 'tidemark', 'sources', ...words);
const largestBudget = 1_000_000;

export function pauseOf({ name, isPaused }: Pick<SourceLine, 'name' | 'isPaused'>): Action {
  const body = { source: name };
  return isPaused
    ? { title: `Resume ${name}`, action: 'resume', body, command: command('resume', name) }
    : {
        ...{ title: `Pause ${name}`, action: 'pause', body, command: command('pause', name) },
        confirm: `Pause ${name}, on all machines?`,
      };
}

export function resetBudget(name: string): Action {
  return {
    ...{ title: `Reset the budget of ${name}`, action: 'budget', body: { source: name, perMinute: null } },
    command: command('budget', name, '--reset'),
  };
}

export const budgetTitle = (name: string) => `Change the budget of ${name}`;

/** Never null, which would take the limit back. @param text of the field. */
export function changeBudget(name: string, text: string): Action {
  const perMinute = /^\d+$/.test(text) ? Number(text) : 0;
  const given = { title: budgetTitle(name), action: 'budget', command: command('budget', name, text) };
  if (perMinute >= 1 && perMinute <= largestBudget) return { ...given, body: { source: name, perMinute } };
  const problem = `give a whole number of requests a minute, from 1 to ${formatCount(largestBudget)}`;
  return { ...given, body: { source: name }, problem };
}

/** The field of the budget with its button, and those of other actions. */
export function BudgetOf({ name, more = [] }: { name: string; more?: readonly Action[] }) {
  const [perMinute, setPerMinute] = useState('');
  const id = useId();
  return (
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
      <ActionBar label={name} actions={[changeBudget(name, perMinute), ...more]} />
    </>
  );
}
