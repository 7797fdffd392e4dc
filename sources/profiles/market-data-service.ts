/** The Market Data Service: the interface of v2/, as docs/sources.md describes it. */

import { type DatasetName, datasetNames } from '../../model/datasets/index.ts';
import { minuteMs } from '../../model/intervals.ts';
import type { ListRow } from '../../model/lists/index.ts';
import { marketKinds } from '../../model/market.ts';
import { longestRangeMs } from '../../model/request-range.ts';
import { isOfMarket } from '../../model/series.ts';
import type { OfferFacts } from '../../model/sources.ts';
import type { Answer } from '../../planning/answer.ts';
import { requestsPerMinute } from '../../v2/limits.ts';
import { type Endpoint, pathOf, pointsPath } from '../../v2/paths.ts';
import { listAnswer, pointsAnswer, statedCoverage } from '../answer.ts';
import { longestServicePauseMs, refusal } from '../error-response.ts';
import { type RowReader, readAsset, readAssetMarket, readExchange, readMarket, readRate } from '../rows.ts';
import { type ListQuery, type Lists, type Offer, type Profile, type Resource, withQuery } from './profile.ts';

/** A list: its path, and the query as it is. */
function list<Row extends ListRow>(name: Endpoint, read: RowReader<Row>): Resource<ListQuery, Answer<Row>> {
  return {
    path: ({ id, ...parameters }) => withQuery(pathOf(name, id), parameters),
    read: (reply) => listAnswer(reply, read),
  };
}

export const lists: Lists = {
  rates: list('rates', readRate),
  assets: list('assets', readAsset),
  asset_markets: list('assetMarkets', readAssetMarket),
  markets: list('markets', readMarket),
  exchanges: list('exchanges', readExchange),
};

/** The points of a dataset, in the interface's form. */
export function offer(dataset: DatasetName, absence: OfferFacts['absence']): Offer {
  return {
    ...{ dataset, longestRangeMs, depth: null, cost: 1, absence },
    path({ startMs: start, endMs: end, ...series }) {
      const { interval } = series;
      if (!isOfMarket(series)) return withQuery(pathOf('assetHistory', series.assetId), { interval, start, end });
      const { exchange, baseId, quoteId } = series;
      const path = dataset === 'candles' ? pathOf('candles') : pointsPath(dataset);
      return withQuery(path, { exchange, interval, baseId, quoteId, start, end });
    },
    read: (reply, query) => ({ ...pointsAnswer(reply, query), known: statedCoverage(reply, query) }),
  };
}

export const marketDataService: Profile = {
  name: 'market-data-service',
  url: null,
  exchange: null,
  kinds: marketKinds,
  limits: (hasKey) => [
    { unit: 'request', amount: hasKey ? requestsPerMinute.withKey : requestsPerMinute.withoutKey, periodMs: minuteMs },
  ],
  // The interface has candles and histories. Another Tidemark has the others too, beside it.
  offers: datasetNames.map((name) => offer(name, 'no trade')),
  lists,
  files: null,
  longestPauseMs: longestServicePauseMs,
  keyHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  refusal,
};
