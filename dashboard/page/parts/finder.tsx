/** Finds series, views and actions by a few letters: a dialog that `/` and Ctrl-K open. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefOf, readAddress, type ViewName } from '../state/address.ts';
import type { Model } from '../state/model.ts';
import { navigate } from '../state/navigation.ts';
import { useModel } from '../state/use-model.ts';
import { type Action, actionsOf, commonActions } from './actions.tsx';
import { formatCount } from './format.ts';
import { PricedActions } from './priced-actions.tsx';

type Found =
  | { readonly kind: 'view' | 'series'; readonly name: string; readonly href: string }
  | { readonly kind: 'action'; readonly name: string; readonly action: Action };

const maxFound = 12;
const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** @param links the views, with their titles. */
export function Finder({ links }: { links: ReadonlyArray<readonly [view: ViewName, title: string]> }) {
  const model = useModel();
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState('');
  const [place, setPlace] = useState(0);
  const [action, setAction] = useState<Action | null>(null);
  const open = () => {
    setTyped('');
    setPlace(0);
    setAction(null);
    if (dialog.current?.open === false) dialog.current.showModal();
    input.current?.focus();
  };
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
  const { found, more } = find(model, links, typed);
  const chosen = Math.min(place, found.length - 1);
  const take = (one: Found | undefined) => {
    if (one === undefined) return;
    if (one.kind === 'action') {
      setAction(one.action);
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
              type="search"
              role="combobox"
              list={undefined}
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
          <PricedActions label={action.title} actions={[action]} />
        )}
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}

/** Whether the key belongs to a field. */
function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

/** What has all the words in its name: views and actions before series. Nothing typed: views and actions. */
export function find(
  { series }: Pick<Model, 'series'>,
  links: ReadonlyArray<readonly [view: ViewName, title: string]>,
  typed: string,
): { found: readonly Found[]; more: number } {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const { view, seriesId } = readAddress(location.search);
  const own = view === 'series' ? series.get(seriesId) : undefined;
  const actions = [
    ...(own === undefined
      ? []
      : actionsOf(own.id, own.name).map((one) => ({ ...one, title: `${one.title}: ${own.name}` }))),
    ...commonActions,
  ];
  const all: Found[] = [
    ...links.map(([of, name]) => ({ kind: 'view' as const, name, href: hrefOf({ view: of }) })),
    ...actions.map((action) => ({ kind: 'action' as const, name: action.title, action })),
  ];
  if (words.length > 0)
    for (const { id, name } of series.values())
      all.push({ kind: 'series', name, href: hrefOf({ view: 'series', seriesId: id }) });
  const found = all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  return { found: found.slice(0, maxFound), more: Math.max(0, found.length - maxFound) };
}
