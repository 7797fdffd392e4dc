/** Why a range is missing, in words. */

import { useRef, useState } from 'preact/hooks';
import type { EpochMs } from '../../../model/intervals.ts';
import { explainGap } from '../../../model/reasons.ts';
import type { SeriesDetail, SeriesLine } from '../../shapes.ts';
import { fetchDetail } from '../state/server.ts';
import { useModel } from '../state/use-model.ts';

type Gaps = SeriesDetail['gaps'];

/** @returns null where nothing is missing, or the list ends before. */
export function reasonAt(gaps: Gaps, timeMs: EpochMs, nowMs: EpochMs): string | null {
  const gap = gaps.find(({ startMs, endMs }) => startMs <= timeMs && timeMs < endMs);
  return gap === undefined ? null : explainGap(gap, { nowMs });
}

/** The reasons of a series in a list: loaded by `load`, and again by the first `load` after a change of the series. */
export function useReasons({ id, version, blocked }: SeriesLine) {
  const model = useModel();
  const [gaps, setGaps] = useState<Gaps>([]);
  const loaded = useRef<string | null>(null);
  const load = () => {
    if (loaded.current === version) return;
    loaded.current = version;
    fetchDetail(id).then(
      (detail) => setGaps(detail.gaps),
      // Tried again when the pointer comes back. The page says by itself that the server is away.
      () => {
        loaded.current = null;
      },
    );
  };
  return { load, reasonAt: (timeMs: EpochMs) => reasonAt(gaps, timeMs, model.nowMs()) ?? blocked };
}
