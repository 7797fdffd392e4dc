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
import { prepareAnswer, sendAnswer } from './answer.ts';
import { AnswerMemory, type MemorySettings } from './answer-memory.ts';
import type { JsonText, MarketData, SeriesAnswer, TimeRange } from './market-data.ts';
import { parameters } from './parameters.ts';
import { candlesRange, historyRange, type RangeLimits } from './ranges.ts';
import { notFound } from './refusals.ts';

/** What a route works with beside its query. */
interface Asked {
  /** Read once: an answer's rows and its timestamp belong to the same moment. */
  readonly nowMs: EpochMs;
  readonly id: string;
  /** History before this is not shown to who asks; null: all of it is. */
  readonly visibleFromMs: EpochMs | null;
}

/** Answers one request with the JSON text of its `data`. */
type Answer = (query: unknown, asked: Asked) => Promise<JsonText | SeriesAnswer>;

export interface RouteOptions {
  readonly data: MarketData;
  readonly now: () => EpochMs;
  readonly limits: RangeLimits;
  readonly memory: MemorySettings;
  /** The earliest moment whose history a request may see; null: all of it. */
  readonly visibleFrom: (request: FastifyRequest, nowMs: EpochMs) => EpochMs | null;
}

export function addRoutes(
  app: FastifyInstance,
  { data, now, limits, memory, visibleFrom }: RouteOptions,
): void {
  const answers = answersFrom(data, limits);
  const remembered = new AnswerMemory(memory);
  for (const [endpoint, path] of Object.entries(pathTemplates)) {
    const answer = answers[endpoint as Endpoint];
    app.get(path, async (request, reply) => {
      const nowMs = now();
      const asked = { nowMs, id: idOf(request), visibleFromMs: visibleFrom(request, nowMs) };
      // Who sees all of the history does not get the answer of who sees some of it, nor the other way round.
      const question = `${asked.visibleFromMs === null ? 'all' : 'some'} ${request.url}`;
      const prepared = await remembered.get(question, nowMs, async () =>
        prepareAnswer(await answer(request.query, asked)),
      );
      return sendAnswer(request, reply, prepared, nowMs);
    });
  }
}

function answersFrom(data: MarketData, limits: RangeLimits): Readonly<Record<Endpoint, Answer>> {
  const assetMarkets: Answer = async (query, { id, nowMs }) =>
    found(await data.assetMarkets(id, parameters(pageParameters, query), nowMs), id);
  const markets: Answer = async (query, { nowMs }) =>
    data.markets(parameters(marketsParameters, query), nowMs);
  const exchanges: Answer = async (_query, { nowMs }) => data.exchanges(nowMs);
  const rates: Answer = async (_query, { nowMs }) => data.rates(nowMs);
  const candles: Answer = async (query, { nowMs, visibleFromMs }) => {
    const request = parameters(candlesParameters, query);
    const { exchange, baseId, quoteId, interval } = request;
    const series = { dataset: 'candles', exchange, baseId, quoteId, interval } as const;
    const range = visible(candlesRange(request, nowMs, limits), visibleFromMs);
    return found(await data.candles(series, range, nowMs), `${exchange} ${baseId}/${quoteId}`);
  };

  return {
    assets: async (query, { nowMs }) => data.assets(parameters(assetsParameters, query), nowMs),
    asset: async (_query, { id, nowMs }) => found(await data.asset(id, nowMs), id),
    assetHistory: async (query, { id, nowMs, visibleFromMs }) => {
      const request = parameters(historyParameters, query);
      const series = { dataset: 'asset_history', assetId: id, interval: request.interval } as const;
      const range = visible(historyRange(request, nowMs, limits), visibleFromMs);
      return found(await data.assetHistory(series, range, nowMs), id);
    },
    assetMarkets,
    assetMarketsAlias: assetMarkets,
    markets,
    exchanges,
    exchange: async (_query, { id, nowMs }) => found(await data.exchange(id, nowMs), id),
    rates,
    rate: async (_query, { id, nowMs }) => found(await data.rate(id, nowMs), id),
    candles,
    // The interface lists these by path and purpose only: each means what its name says, as the endpoint it extends.
    candlesMarket: candles,
    exchangesAll: exchanges,
    marketsData: markets,
    ratesAll: rates,
  };
}

function visible(range: TimeRange, visibleFromMs: EpochMs | null): TimeRange {
  return visibleFromMs === null ? range : { ...range, visibleFromMs };
}

function found<Value>(value: Value | null, what: string): Value {
  if (value === null) throw notFound(what);
  return value;
}

/** @throws ServiceRefusal 404 for what no id can be: no database could even look for it. */
function idOf(request: FastifyRequest): string {
  const { id = '' } = request.params as { id?: string };
  if (/[\0\p{Surrogate}]/u.test(id)) throw notFound(id.replaceAll(/[\0\p{Surrogate}]/gu, '\ufffd'));
  return id;
}
