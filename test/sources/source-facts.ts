import { defaultSource, type SourceFacts } from '../../model/sources.ts';

/** Facts of a source without a limit. */
export function factsOf(given: Partial<SourceFacts> = {}): SourceFacts {
  return {
    ...{ name: defaultSource, exchange: null, rangeLimits: {}, depthPeriods: null, files: null, archive: null },
    ...{ limits: [], requestsPerMinute: 0, isBudgetStated: true, longLimit: null },
    ...given,
  };
}

/** The sources of a scheduler, by name. */
export function sourcesOf(...given: readonly Partial<SourceFacts>[]): ReadonlyMap<string, SourceFacts> {
  return new Map(given.map(factsOf).map((facts) => [facts.name, facts]));
}
