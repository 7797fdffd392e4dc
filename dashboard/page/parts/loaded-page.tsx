/** A page whose content loads when it opens, on request, and when a lost store is back. */

import type { ComponentChildren } from 'preact';
import { type Loaded, useLoaded } from '../state/use-model.ts';
import { asSentence } from './format.ts';

export function LoadFailure({ of }: { of: Loaded<unknown> }) {
  return (
    of.kind === 'failed' && (
      <p class="bad" role="alert">
        {asSentence(`Cannot load: ${of.message}`)}
      </p>
    )
  );
}

export function LoadedPage<Value>(page: {
  readonly title: string;
  readonly load: () => Promise<Value>;
  /** What `load` depends on. */
  readonly inputs?: readonly unknown[];
  readonly children: (value: Value) => ComponentChildren;
}) {
  const [loaded, again] = useLoaded(page.load, page.inputs ?? []);
  return (
    <>
      <h1>{page.title}</h1>
      <button type="button" onClick={again}>
        Refresh
      </button>
      {loaded.kind === 'loading' && <p>Loading.</p>}
      <LoadFailure of={loaded} />
      {loaded.kind === 'loaded' && page.children(loaded.value)}
    </>
  );
}
