/** Which months of a series differ between the store and the lake. Pure: neither points nor files are read. */

import { isDeepStrictEqual } from 'node:util';
import type { EpochMs } from '../../model/intervals.ts';
import { byMonth, monthNamed } from '../../model/months.ts';
import { clip, normalize, type Range, subtract } from '../../model/ranges.ts';
import type { LakeMonth } from './manifest.ts';
import type { SeriesState } from './series-states.ts';

/** A month as the lake should have it. */
export interface WantedMonth {
  readonly name: string;
  readonly range: Range;
  /** The part whose points the store has. */
  readonly covered: readonly Range[];
  /** The part that only the lake has, because retention has dropped it from the store. */
  readonly carried: readonly Range[];
  /** End of what retention has dropped of it; null: nothing. */
  readonly keptBeforeMs: EpochMs | null;
  /** Mark of the newest change of its points. */
  readonly changed: string | null;
  /** Whether its file has to be written or removed. */
  readonly isChanged: boolean;
}

/**
 * Finds the months that the lake should have, ascending.
 *
 * @param months of the lake, by name.
 * @param droppedMs the store has dropped what is before; null: nothing.
 */
export function wantedMonths(
  state: SeriesState,
  months: ReadonlyMap<string, LakeMonth>,
  droppedMs: EpochMs | null,
): WantedMonth[] {
  const covered = byMonth(state.covered);
  const names = [...new Set([...covered.keys(), ...months.keys()])].sort();
  return names.map((name) => wanted(name, covered.get(name) ?? [], months.get(name)));

  function wanted(name: string, covered: readonly Range[], known: LakeMonth | undefined): WantedMonth {
    const changed = state.changes[name] ?? null;
    const range = monthNamed(name);
    const month = { name, range, covered, changed };
    if (known === undefined) {
      const hasPoints = subtract(covered, clip(state.confirmedEmpty, range)).length > 0;
      return { ...month, carried: [], keptBeforeMs: null, isChanged: hasPoints };
    }
    // Retention cuts tracked ranges too, so their start remembers the cut after it is turned off.
    const cutMs = Math.max(droppedMs ?? 0, known.keptBefore ?? 0, state.tracked.startMs);
    const lost = subtract(known.coverage, covered);
    const carried = clip(lost, { startMs: range.startMs, endMs: Math.max(range.startMs, cutMs) });
    const isSame = isDeepStrictEqual(known.coverage, normalize([...covered, ...carried])) && known.changed === changed;
    return { ...month, carried, keptBeforeMs: carried.at(-1)?.endMs ?? null, isChanged: !isSame };
  }
}
