/** What the watch list needs to know of configured sources. */

import type { RangeLimits } from '../model/windows.ts';
import type { SourceEntries } from './plan.ts';

export interface SourceFacts {
  /** Null: a request names the exchange. */
  readonly exchange: string | null;
  readonly rangeLimits: RangeLimits;
  /** Name of the source that has its history by months; null: none. */
  readonly archive: string | null;
  /** Null: it is no archive. */
  readonly files: object | null;
}

/** The sources as the watch list resolves them, without their markets. */
export function watchedSources(sources: ReadonlyMap<string, SourceFacts>): ReadonlyMap<string, SourceEntries> {
  const intervalsOf = (facts: SourceFacts | undefined, dataset: keyof RangeLimits) =>
    Object.keys(facts?.rangeLimits[dataset] ?? {});
  return new Map(
    [...sources].map(([name, facts]) => {
      const archive = facts.archive === null ? undefined : sources.get(facts.archive);
      return [
        name,
        {
          exchange: facts.exchange,
          isArchive: facts.files !== null,
          intervals: {
            candles: intervalsOf(facts, 'candles'),
            asset_history: intervalsOf(facts, 'asset_history'),
          },
          archive:
            archive === undefined || facts.archive === null
              ? null
              : { name: facts.archive, intervals: intervalsOf(archive, 'candles') },
        },
      ];
    }),
  );
}
