/** The Market Data Service: the interface of v2/, as docs/sources.md describes it. */

import { minuteMs } from '../../model/intervals.ts';
import { longestRangeMs, requestsPerMinute } from '../../v2/limits.ts';
import { type Endpoint, pathOf } from '../../v2/paths.ts';
import { candleAnswer, listAnswer, statedCoverage } from '../answer.ts';
import { longestServicePauseMs, refusal } from '../refusal.ts';
import { readAsset, readAssetMarket, readExchange, readHistoryPoint, readMarket, readRate } from '../rows.ts';
import { type Profile, type Resource, type ResourceName, withQuery } from './profile.ts';

type Listed = Exclude<ResourceName, 'candles' | 'assetHistory' | 'symbols'>;

/** A list: its path, and the query as it is. */
export function list<Name extends Listed & Endpoint>(
  name: Name,
  read: Parameters<typeof listAnswer>[1],
): Resource<Name> {
  return {
    path: (query) => {
      const { id, ...parameters } = query as { id?: string };
      return withQuery(pathOf(name, id), parameters);
    },
    read: (reply) => listAnswer(reply, read) as ReturnType<Resource<Name>['read']>,
  };
}

export const assetHistory: Resource<'assetHistory'> = {
  path: ({ id, ...parameters }) => withQuery(pathOf('assetHistory', id), parameters),
  read: (reply, query) => ({ ...listAnswer(reply, readHistoryPoint), known: statedCoverage(reply, query) }),
};

export const lists = {
  rates: list('rates', readRate),
  assets: list('assets', readAsset),
  assetMarkets: list('assetMarkets', readAssetMarket),
  markets: list('markets', readMarket),
  exchanges: list('exchanges', readExchange),
};

export const marketDataService: Profile = {
  name: 'market-data-service',
  url: null,
  exchange: null,
  limits: (hasKey) => [
    {
      unit: 'request',
      amount: hasKey ? requestsPerMinute.withKey : requestsPerMinute.withoutKey,
      periodMs: minuteMs,
    },
  ],
  longestRangeMs: { candles: longestRangeMs, asset_history: longestRangeMs },
  depthPeriods: null,
  files: null,
  absence: 'no trade',
  longestPauseMs: longestServicePauseMs,
  keyHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  refusal,
  resources: {
    candles: {
      path: ({ symbol: _, ...query }) => withQuery(pathOf('candles'), query),
      read: (reply, query) => ({
        ...candleAnswer(reply, query.interval),
        known: statedCoverage(reply, query),
      }),
    },
    assetHistory,
    ...lists,
  },
};
