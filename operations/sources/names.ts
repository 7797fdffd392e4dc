/** The names of series: one market is one series, however it is named. */

import { badArgument } from '../../errors.ts';
import { marketKind, parseQuote, quoteText } from '../../model/market.ts';
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
  if (aliases === null || areSameAliases(await readAliases.on(database.pool, {}), aliases)) return;
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
export async function assertSettledAsListed(
  { database, sources }: Pick<OperationContext, 'database' | 'sources'>,
  series: readonly SeriesKey[],
): Promise<void> {
  const contracts = series.filter(isOfMarket).filter(({ quoteId }) => marketKind(quoteId) !== 'spot');
  for (const exchange of new Set(contracts.map((one) => one.exchange))) {
    const all = (await sources()).all();
    const givers = all.filter(({ profile, facts }) => (profile.exchange ?? facts.name) === exchange);
    const own = contracts.filter((one) => one.exchange === exchange);
    const bases = [...new Set(own.map(({ baseId }) => baseId))];
    const names = givers.map(({ facts }) => facts.name);
    const listed = await readContractQuotes.on(database.pool, { sources: names, bases });
    for (const { baseId, quoteId } of own) {
      const { asset, settle } = parseQuote(quoteId);
      const same = listed.filter(
        ({ base, baseId: id, quote, quoteId: quoteAs }) =>
          [base, id].includes(baseId) && [quote, quoteAs].some((text) => parseQuote(text).asset === asset),
      );
      const isSo = same.some(({ quote, quoteId: id }) =>
        [quote, id].some((text) => parseQuote(text).settle === settle),
      );
      if (same.length === 0 || isSo) continue;
      const perpetual = (base: string, quote: string) => `${base}/${quoteText({ ...parseQuote(quote), expiry: null })}`;
      const known = new Set(same.map(({ base, quote }) => perpetual(base, quote)));
      throw badArgument(
        `${exchange} lists ${[...known].join(', ')}, and not ${perpetual(baseId, quoteId)}`,
        'name what it is settled in as the list does',
      );
    }
  }
}
