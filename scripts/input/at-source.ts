/** Resolves a selection at the source that it names. */

import { chooseSource } from '../../operations/sources/markets.ts';
import type { Context } from '../../runtime/context.ts';
import type { SeriesSource } from '../../store/series/sources.ts';
import type { Selection } from './selectors.ts';

export interface SourcedSelection extends Selection {
  /** The sources of every selected series; null: they stay as they are. */
  readonly sources: readonly SeriesSource[] | null;
}

/** @throws TidemarkError when the source lacks what is selected. */
export async function atSource(context: Context, selection: Selection): Promise<SourcedSelection> {
  if (selection.source === null) return { ...selection, sources: null };
  const chosen = await chooseSource(context, selection.source, selection.series, Date.now());
  return { ...selection, ...chosen };
}
