/** The names of series: one market is one series, however it is named. */

import { badArgument } from '../../errors.ts';
import { parseQuote, quoteText } from '../../model/market.ts';
import { isOfMarket, type SeriesKey, seriesName, seriesProblem } from '../../model/series.ts';
import { inTransaction } from '../../store/db/database.ts';
import {
  areSameAliases,
  readAliases,
  readContractQuotes,
  storedKeys,
  writeAliases,
} from '../../store/series/aliases.ts';
import { readAliasEntries } from '../../watch-list/source-entries.ts';
import type { OperationContext } from '../context.ts';

/** Stores the aliases of the watch list, so that they hold before it is applied. */
export async function storeAliases({ config, database }: Pick<OperationContext, 'config' | 'database'>): Promise<void> {
  const aliases = config.watchList === undefined ? null : await readAliasEntries(config.watchList);
  if (aliases === null || areSameAliases(await readAliases(database.pool), aliases)) return;
  await inTransaction(database, (client) => writeAliases(client, aliases));
}

/**
 * The series as they are stored, by whichever name they are given.
 *
 * @throws TidemarkError BAD_ARGUMENT for a series that there cannot be.
 */
export async function asStored(
  context: Pick<OperationContext, 'config' | 'database' | 'sources'>,
  series: readonly SeriesKey[],
): Promise<SeriesKey[]> {
  assertPossible(series);
  await storeAliases(context);
  await assertSettledAsListed(context, series);
  return storedKeys(context.database.pool, series);
}

const quotesAre =
  'tether is the quote of a spot market, tether:tether of a perpetual, tether:tether-261225 of a future';

/** @throws TidemarkError BAD_ARGUMENT for a quote that is none, and a dataset that markets of its kind do not have. */
export function assertPossible(series: readonly SeriesKey[]): void {
  for (const one of series) {
    const problem = seriesProblem(one);
    if (problem !== null) throw badArgument(`${seriesName(one)}: ${problem}`, quotesAre);
  }
}

/**
 * Markets that are not listed may have been: only another settlement of the same assets is refused.
 *
 * @throws TidemarkError BAD_ARGUMENT
 */
async function assertSettledAsListed(
  { database, sources }: Pick<OperationContext, 'database' | 'sources'>,
  series: readonly SeriesKey[],
): Promise<void> {
  const [first] = series;
  if (first === undefined || !isOfMarket(first)) return;
  const { exchange, baseId, quoteId } = first;
  const { asset, settle } = parseQuote(quoteId);
  if (settle === null) return;
  const givers = (await sources()).all().filter(({ profile, facts }) => (profile.exchange ?? facts.name) === exchange);
  const names = givers.map(({ facts }) => facts.name);
  const listed = (await readContractQuotes(database.pool, names, baseId)).flatMap(({ base, quote, quoteId: id }) => {
    const both = [parseQuote(quote), parseQuote(id)];
    return both.some((one) => one.asset === asset)
      ? [{ base, quote: { ...parseQuote(quote), expiry: null }, both }]
      : [];
  });
  if (listed.length === 0 || listed.some(({ both }) => both.some((one) => one.settle === settle))) return;
  const known = new Set(listed.map(({ base, quote }) => `${base}/${quoteText(quote)}`));
  throw badArgument(
    `${exchange} lists ${[...known].join(', ')}, and not ${baseId}/${quoteText({ asset, settle, expiry: null })}`,
    'name what it is settled in as the list does',
  );
}
