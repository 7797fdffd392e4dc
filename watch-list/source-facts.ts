/** What the watch list needs to know of configured sources. */

import { byDataset } from '../model/datasets/index.ts';
import { kindsGiven } from '../model/series.ts';
import { offerOf, type SourceFacts } from '../model/sources.ts';
import type { SourceEntries } from './plan.ts';

type WatchedSource = Pick<SourceFacts, 'exchange' | 'kinds' | 'offers' | 'archive' | 'files'>;

/** The sources as the watch list resolves them, without their markets. */
export function watchedSources(sources: ReadonlyMap<string, WatchedSource>): ReadonlyMap<string, SourceEntries> {
  const givenBy = (facts: WatchedSource) => ({
    intervals: byDataset((_, dataset) => Object.keys(offerOf(facts.offers, dataset)?.longestRangeMs ?? {})),
    kinds: byDataset((_, dataset) => kindsGiven(facts, dataset)),
  });
  return new Map(
    [...sources].map(([name, facts]) => {
      const archive = facts.archive === null ? undefined : sources.get(facts.archive);
      return [
        name,
        {
          exchange: facts.exchange,
          isArchive: facts.files !== null,
          ...givenBy(facts),
          archive:
            archive === undefined || facts.archive === null ? null : { name: facts.archive, ...givenBy(archive) },
        },
      ];
    }),
  );
}
