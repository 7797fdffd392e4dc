/** The routes of the interface (specification, section 4), relative to the base path. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { EpochMs } from '../contract/intervals.ts';
import { type Endpoint, pathTemplates } from '../contract/paths.ts';
import {
  assetsParameters,
  candlesParameters,
  historyParameters,
  marketsParameters,
  pageParameters,
} from '../contract/requests.ts';
import type { MarketData } from './market-data.ts';
import { parameters } from './parameters.ts';
import { candlesRange, historyRange, type RangeLimits } from './ranges.ts';
import { notFound } from './refusals.ts';
import {
  renderAsset,
  renderAssetMarket,
  renderCandle,
  renderData,
  renderExchange,
  renderHistoryPoint,
  renderList,
  renderListedAsset,
  renderMarket,
  renderRate,
} from './render.ts';

/** Answers one request, as of `nowMs`, with the JSON text of its `data`. */
type Answer = (query: unknown, nowMs: EpochMs, id: string) => Promise<string>;

export function addRoutes(
  app: FastifyInstance,
  data: MarketData,
  now: () => EpochMs,
  limits: RangeLimits,
): void {
  const answers = answersFrom(data, limits);
  for (const [endpoint, path] of Object.entries(pathTemplates)) {
    const answer = answers[endpoint as Endpoint];
    app.get(path, async (request, reply) => {
      // Read once: an answer's rows and its timestamp belong to the same moment.
      const nowMs = now();
      const text = await answer(request.query, nowMs, idOf(request));
      reply.type('application/json; charset=utf-8');
      return renderData(text, nowMs);
    });
  }
}

function answersFrom(data: MarketData, limits: RangeLimits): Readonly<Record<Endpoint, Answer>> {
  const assetMarkets: Answer = async (query, nowMs, id) => {
    const rows = found(await data.assetMarkets(id, parameters(pageParameters, query), nowMs), id);
    return renderList(rows, renderAssetMarket);
  };
  const markets: Answer = async (query, nowMs) =>
    renderList(await data.markets(parameters(marketsParameters, query), nowMs), renderMarket);
  const exchanges: Answer = async (_query, nowMs) => renderList(await data.exchanges(nowMs), renderExchange);
  const rates: Answer = async (_query, nowMs) => renderList(await data.rates(nowMs), renderRate);
  const candles: Answer = async (query, nowMs) => {
    const request = parameters(candlesParameters, query);
    const { exchange, baseId, quoteId, interval } = request;
    const series = { dataset: 'candles', exchange, baseId, quoteId, interval } as const;
    const rows = await data.candles(series, candlesRange(request, nowMs, limits), nowMs);
    return renderList(found(rows, `${exchange} ${baseId}/${quoteId}`), renderCandle);
  };

  return {
    assets: async (query, nowMs) =>
      renderList(await data.assets(parameters(assetsParameters, query), nowMs), renderListedAsset),
    asset: async (_query, nowMs, id) => renderAsset(found(await data.asset(id, nowMs), id)),
    assetHistory: async (query, nowMs, id) => {
      const request = parameters(historyParameters, query);
      const series = { dataset: 'asset_history', assetId: id, interval: request.interval } as const;
      const rows = await data.assetHistory(series, historyRange(request, nowMs, limits), nowMs);
      return renderList(found(rows, id), renderHistoryPoint);
    },
    assetMarkets,
    assetMarketsAlias: assetMarkets,
    markets,
    exchanges,
    exchange: async (_query, nowMs, id) => renderExchange(found(await data.exchange(id, nowMs), id)),
    rates,
    rate: async (_query, nowMs, id) => renderRate(found(await data.rate(id, nowMs), id)),
    candles,
    // The interface lists these by path and purpose only: each means what its name says, as the endpoint it extends.
    candlesMarket: candles,
    exchangesAll: exchanges,
    marketsData: markets,
    ratesAll: rates,
  };
}

function found<Value>(value: Value | null, what: string): Value {
  if (value === null) throw notFound(what);
  return value;
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id?: string }).id ?? '';
}
