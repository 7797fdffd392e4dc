/** The sources of series, and the queues of several sources as one. */

import { byLane, windowLanes } from '../../model/lanes.ts';
import type { Window } from '../../model/window.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import type { ClaimedWindow } from '../../queue/requests.ts';
import type { SeriesSource } from '../../store/series/sources.ts';

/** The source of each series. */
export type SourcesOf = ReadonlyMap<number, SeriesSource>;

/** The sources of some series, each once. */
export function distinctSources(seriesIds: readonly number[], sourcesOf: SourcesOf): string[] {
  return [...new Set(seriesIds.flatMap((id) => sourcesOf.get(id)?.source ?? []))];
}

/** The queues of these sources as one. A window goes to the queue of its source. */
export function joinQueues(queues: QueueBackend, sources: readonly string[]) {
  const all = sources.map((source) => queues.requestsOf(source));
  return {
    async addWindows(windows: readonly Window[]) {
      for (const source of sources)
        await queues.requestsOf(source).addWindows(windows.filter((window) => window.source === source));
    },
    async claimedWindows() {
      const found = await Promise.all(all.map((requests) => requests.claimedWindows()));
      const windows = new Map<number, ClaimedWindow[]>();
      const load = byLane(windowLanes, () => 0);
      let pages = 0;
      for (const each of found) {
        pages += each.pages.size;
        for (const [id, ranges] of each.windows) windows.set(id, [...(windows.get(id) ?? []), ...ranges]);
        for (const lane of windowLanes) load[lane] += each.load[lane];
      }
      return { windows, load, pages };
    },
    async depth() {
      const depths = await Promise.all(all.map((requests) => requests.depth()));
      const sum = (count: 'waiting' | 'active' | 'delayed') => depths.reduce((total, depth) => total + depth[count], 0);
      return { waiting: sum('waiting'), active: sum('active'), delayed: sum('delayed') };
    },
    /** The longest pause of any. */
    async pausedForMs() {
      return Math.max(0, ...(await Promise.all(all.map((requests) => requests.pausedForMs()))));
    },
    /** Of the source with most: a process has a worker for each. */
    async countWorkers() {
      return Math.max(0, ...(await Promise.all(all.map((requests) => requests.countWorkers()))));
    },
    async dropRun(run: string) {
      for (const requests of all) await requests.dropRun(run);
    },
    async dropSeries(seriesId: number, of: { readonly commands?: boolean } = {}) {
      for (const requests of all) await requests.dropSeries(seriesId, of);
    },
  };
}
