import { byDataset, type DatasetName, datasetNames } from '../../model/datasets/index.ts';
import { marketKinds } from '../../model/market.ts';
import { type Depth, defaultSource, type OfferFacts, type RangeLimits, type SourceFacts } from '../../model/sources.ts';

/** Offers with longest ranges of some datasets. */
export function offersOf(rangeLimits: RangeLimits = {}, depth: Depth | null = null): OfferFacts[] {
  const offer = (dataset: DatasetName): OfferFacts => ({
    ...{ dataset, longestRangeMs: rangeLimits[dataset] ?? {}, depth, cost: 1, absence: 'no trade' },
  });
  return datasetNames.map(offer);
}

/** Facts of a test, with longest ranges by dataset. */
export type GivenFacts = Partial<SourceFacts> & { readonly rangeLimits?: RangeLimits };

/** Facts of a source without a limit. */
export function factsOf({ rangeLimits, ...given }: GivenFacts = {}): SourceFacts {
  return {
    ...{
      name: defaultSource,
      kinds: marketKinds,
      exchange: null,
      offers: offersOf(rangeLimits),
      files: null,
      archive: null,
    },
    ...{ limits: [], requestsPerMinute: 0, isBudgetStated: true, longLimit: null },
    ...given,
  };
}

/** The sources of a scheduler, by name. */
export function sourcesOf(...given: readonly GivenFacts[]): ReadonlyMap<string, SourceFacts> {
  return new Map(given.map(factsOf).map((facts) => [facts.name, facts]));
}

/** What a source gives to the watch list: intervals by dataset, of another dataset none, of markets of all kinds. */
export function givenBy(given: Partial<Record<DatasetName, readonly string[]>>) {
  return { intervals: byDataset((_, name) => given[name] ?? []), kinds: byDataset(() => marketKinds) };
}
