/** Finds series, views and actions by a few letters: a dialog that `/` and Ctrl-K open. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { BackfillLine } from '../../shapes.ts';
import { hrefOf, readAddress, type ViewName } from '../state/address.ts';
import type { Model } from '../state/model.ts';
import { navigate } from '../state/navigation.ts';
import { fetchBackfills } from '../state/server.ts';
import { useModel } from '../state/use-model.ts';
import { type Action, actionsOf, cancelOf, commonActions, namesOf } from './actions.tsx';
import { formatCount } from './format.ts';
import { PricedActions } from './priced-actions.tsx';
import { BudgetOf, budgetTitle, pauseOf, resetBudget } from './source-orders.tsx';

type Found = FoundPlace | FoundAction;

interface FoundPlace {
  /** `action`: it is done there. */
  readonly kind: 'view' | 'series' | 'action';
  readonly name: string;
  readonly href: string;
}

interface FoundAction {
  readonly kind: 'action';
  readonly name: string;
  /** Null: to change the budget of `source`, which takes a figure. */
  readonly action: Action | null;
  readonly source?: string;
}

const maxFound = 12;
const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** @param links the views, with their titles. */
export function Finder({ links }: { links: ReadonlyArray<readonly [view: ViewName, title: string]> }) {
  const model = useModel();
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState('');
  const [place, setPlace] = useState(0);
  const [action, setAction] = useState<FoundAction | null>(null);
  const [backfills, setBackfills] = useState<readonly BackfillLine[]>([]);
  /** Counts how often it was opened. */
  const [opened, setOpened] = useState(0);
  const open = () => {
    setTyped('');
    setPlace(0);
    setAction(null);
    if (dialog.current?.open === false) dialog.current.showModal();
    setOpened((count) => count + 1);
    // Without them, their view is found.
    fetchBackfills().then(setBackfills, () => setBackfills([]));
  };
  // After the drawing: the field is absent while an action is shown, whose button comes first.
  useLayoutEffect(() => {
    if (opened > 0) (input.current ?? dialog.current?.querySelector<HTMLElement>('input, button'))?.focus();
  }, [opened, action]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isShortcut = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
      const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event);
      if (!isShortcut && !isSlash) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const { found, more } = find(model, links, typed, location.search, backfills);
  const chosen = Math.min(place, found.length - 1);
  const take = (one: Found | undefined) => {
    if (one === undefined) return;
    if (!('href' in one)) {
      setAction(one);
      return;
    }
    dialog.current?.close();
    navigate(one.href);
  };
  return (
    <>
      <button type="button" onClick={open} aria-keyshortcuts="/ Control+K Meta+K">
        Find anything
      </button>
      <dialog ref={dialog} class="finder" aria-label="Series, views and actions">
        {action === null ? (
          <>
            <input
              ref={input}
              type="text"
              role="combobox"
              aria-label="Name of a series, a view or an action"
              aria-expanded={found.length > 0}
              aria-controls="found"
              aria-activedescendant={found.length > 0 ? `found-${chosen}` : undefined}
              placeholder="Series, view or action"
              autocomplete="off"
              spellcheck={false}
              value={typed}
              onInput={({ currentTarget }) => {
                setTyped(currentTarget.value);
                setPlace(0);
              }}
              onKeyDown={(event) => {
                const by = moves[event.key];
                if (by === undefined && event.key !== 'Enter') return;
                event.preventDefault();
                if (by === undefined) take(found[chosen]);
                else setPlace((chosen + by + found.length) % Math.max(1, found.length));
              }}
            />
            <div id="found" role="listbox" aria-label="Found">
              {found.map((one, at) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
                // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field
                <div
                  key={`${one.kind} ${one.name}`}
                  id={`found-${at}`}
                  role="option"
                  aria-selected={at === chosen}
                  onClick={() => take(one)}
                >
                  {one.name} <span class="kind">{one.kind}</span>
                </div>
              ))}
            </div>
            <p role="status">
              {found.length === 0 ? 'Nothing has such a name.' : more > 0 ? `and ${formatCount(more)} more` : ''}
            </p>
          </>
        ) : (
          <Taken of={action} />
        )}
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}

function Taken({ of: { name, action, source = '' } }: { of: FoundAction }) {
  return action === null ? <BudgetOf name={source} /> : <PricedActions label={name} actions={[action]} />;
}

/** Whether the key belongs to a field. */
function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

/** What has all the words in its name: views and actions before series. Nothing typed: views and actions. */
export function find(
  { series, summary }: Pick<Model, 'series' | 'summary'>,
  links: ReadonlyArray<readonly [view: ViewName, title: string]>,
  typed: string,
  search: string,
  backfills: readonly BackfillLine[] = [],
): { found: readonly Found[]; more: number } {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const { view, seriesId } = readAddress(search);
  const own = view === 'series' ? series.get(seriesId) : undefined;
  const asFound = (action: Action): Found => ({ kind: 'action', name: action.title, action });
  const ofSources = (summary?.sources ?? []).flatMap((source): Found[] => [
    asFound(pauseOf(source)),
    { kind: 'action', name: budgetTitle(source.name), action: null, source: source.name },
    ...(source.isLowered ? [asFound(resetBudget(source.name))] : []),
  ]);
  const cancels = backfills.flatMap((line): Found[] => {
    const action = line.progress === null ? null : cancelOf(line);
    const title = `Cancel ${line.kind.replace('_', ' ')} ${line.id} (${namesOf(line)})`;
    return action === null ? [] : [asFound({ ...action, title })];
  });
  const all: Found[] = [
    ...links.map(([of, name]) => ({ kind: 'view' as const, name, href: hrefOf({ view: of }) })),
    ...(own === undefined ? [] : ofSeries(own.id, own.name)),
    ...commonActions.map(asFound),
    { kind: 'action', name: 'Track a market', href: `${hrefOf({})}#track` },
    ...(cancels.length > 0 && words.length > 0
      ? cancels
      : [{ kind: 'action' as const, name: 'Cancel a backfill', href: hrefOf({ view: 'backfills' }) }]),
    ...ofSources,
  ];
  const namesAction = words.some((word) => word.length > 2 && actedWith.some((verb) => verb.startsWith(word)));
  if (words.length > 0)
    for (const { id, name } of series.values()) {
      if (namesAction && id !== own?.id) all.push(...ofSeries(id, name));
      all.push({ kind: 'series', name, href: hrefOf({ view: 'series', seriesId: id }) });
    }
  const found = all
    .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
    .map((one) => ({ one, whole: countWhole(one.name, words) }))
    .sort((one, other) => other.whole - one.whole)
    .map(({ one }) => one);
  return { found: found.slice(0, maxFound), more: Math.max(0, found.length - maxFound) };
}

/** The words of titles of {@link actionsOf}: what is typed with one of them may be about any series. */
const actedWith = ['retry', 'verify', 'repair', 'untrack'];

function ofSeries(id: number, name: string): Found[] {
  return actionsOf(id, name).map((one) => {
    const action = { ...one, title: `${one.title}: ${name}` };
    return { kind: 'action', name: action.title, action };
  });
}

/** How many of the words are whole words of the name: `m1` is no part of `m15`. */
function countWhole(name: string, words: readonly string[]): number {
  const parts = name.toLowerCase().split(/[\s/:]+/);
  return words.filter((word) => parts.includes(word)).length;
}
