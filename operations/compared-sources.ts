/** The sources that `verify --against` may compare a series with, without a request to any of them. */

import { isOfMarket, type SeriesKey } from '../model/series.ts';
import { defaultSource } from '../model/sources.ts';
import type { SourceSetup } from '../sources/registry.ts';
import { readListedPair } from '../store/series/aliases.ts';
import { askableIn, readSourceLists } from '../store/series/sources.ts';
import type { OperationContext } from './context.ts';
import { isGiven, listerOf } from './sources/markets.ts';

export interface ComparedSource {
  readonly name: string;
  /** Whether it is one of the series' own, or its stored list has the market; false: not known before it is asked. */
  readonly isKnown: boolean;
}

/** Those that are known to have the series first. One whose stored list lacks the market is left out. */
export async function sourcesToCompare(
  context: Pick<OperationContext, 'database' | 'sources'>,
  { seriesId, series }: { readonly seriesId: number; readonly series: SeriesKey },
): Promise<ComparedSource[]> {
  const { pool } = context.database;
  const own = (await readSourceLists(pool, [seriesId])).get(seriesId) ?? [];
  const asked = askableIn(own);
  const registry = await context.sources();
  const given = registry
    .all()
    .filter(({ facts, problem }) => problem === null && isGiven(facts, series))
    .filter(({ facts: { name } }) => asked.length === 0 || asked.some((other) => other !== name));
  const isOwn = ({ facts }: SourceSetup) => own.some(({ source }) => source === facts.name);
  const listers = new Map<string, string>();
  for (const source of given) {
    const isListed = isOfMarket(series) && source.facts.name !== defaultSource && !isOwn(source);
    const lister = isListed ? await listerOf(context, source) : null;
    if (lister !== null) listers.set(source.facts.name, lister.facts.name);
  }
  const listed = isOfMarket(series) ? await readListedPair(pool, [...new Set(listers.values())], series) : new Map();
  const found = given.flatMap((source) => {
    const { name } = source.facts;
    const has = isOwn(source) || listed.get(listers.get(name) ?? '');
    return has === false && listers.has(name) ? [] : [{ name, isKnown: has === true }];
  });
  return [...found.filter(({ isKnown }) => isKnown), ...found.filter(({ isKnown }) => !isKnown)];
}
