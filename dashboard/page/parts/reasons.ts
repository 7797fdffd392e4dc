/** Why a range is missing, in words. */

import { useRef, useState } from 'preact/hooks';
import type { EpochMs } from '../../../model/intervals.ts';
import { explainGap } from '../../../model/reasons.ts';
import type { SeriesDetail, SeriesLine } from '../../shapes.ts';
import type { Model } from '../state/model.ts';
import { fetchDetail } from '../state/server.ts';
import { useModel } from '../state/use-model.ts';

type Known = Pick<SeriesDetail, 'gaps' | 'sources'>;

/** @returns null where nothing is missing, or the list ends before. */
export function reasonAt(known: Known | null, timeMs: EpochMs, model: Model): string | null {
  const gap = known?.gaps.find(({ startMs, endMs }) => startMs <= timeMs && timeMs < endMs);
  return known === null || gap === undefined
    ? null
    : explainGap(gap, { nowMs: model.nowMs(), hold: model.holdOf(known), againOf: model.againOf });
}

/** The reasons of a series in a list: loaded by `load`, and again by the first `load` after a change of the series. */
export function useReasons({ id, version, blocked }: SeriesLine) {
  const model = useModel();
  const [known, setKnown] = useState<Known | null>(null);
  const loaded = useRef<string | null>(null);
  const load = () => {
    if (loaded.current === version) return;
    loaded.current = version;
    fetchDetail(id).then(
      ({ gaps, sources }) => setKnown({ gaps, sources }),
      // Tried again when the pointer comes back. The page says by itself that the server is away.
      () => {
        loaded.current = null;
      },
    );
  };
  return { load, reasonAt: (timeMs: EpochMs) => reasonAt(known, timeMs, model) ?? blocked };
}
