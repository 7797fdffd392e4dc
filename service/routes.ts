/** The routes of the interface (specification, section 4), relative to the base path. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { type DatasetName, datasetNames } from '../model/datasets/index.ts';
import type { EpochMs } from '../model/intervals.ts';
import { seriesOfKey, type TimeRange } from '../model/series.ts';
import { type Endpoint, pointsPath, routes } from '../v2/paths.ts';
import {
  assetsParameters,
  candlesParameters,
  historyParameters,
  marketsParameters,
  pageParameters,
  pointsParameters,
} from '../v2/requests.ts';
import type { JsonText, MarketData, SeriesAnswer } from './market-data.ts';
import { historyRange, pointsRange, type RangeLimits } from './ranges.ts';
import { parseParameters } from './request.ts';
import { notFound, prepareAnswer, sendAnswer } from './response.ts';
import { type CacheSettings, responseCache } from './response-cache.ts';

/** The context of a request, besides its query. */
interface RequestContext {
  /** Read once, so that the rows and the timestamp agree. */
  readonly nowMs: EpochMs;
  readonly id: string;
  /** Earlier history is hidden from the client; null: all history is visible. */
  readonly visibleFromMs: EpochMs | null;
}

/** Reads the JSON text of a response's `data`. */
type Handler = (query: unknown, context: RequestContext) => Promise<JsonText | SeriesAnswer>;

export interface RouteOptions {
  readonly data: MarketData;
  readonly clock: Clock;
  readonly limits: RangeLimits;
  readonly cache: CacheSettings;
  /** The start of the history that a request may read; null: all of it. */
  readonly visibleFrom: (request: FastifyRequest, nowMs: EpochMs) => EpochMs | null;
}

export function addRoutes(
  app: FastifyInstance,
  { data, clock, limits, cache: settings, visibleFrom }: RouteOptions,
): void {
  const handlers = handlersOf(data, limits);
  const cached = responseCache(settings, clock);
  for (const { endpoint, path } of routes) answer(path, handlers[endpoint]);
  const { points } = data;
  if (points !== undefined)
    for (const dataset of datasetNames) answer(pointsPath(dataset), pointsHandler(dataset, points, limits));

  function answer(path: string, handle: Handler): void {
    app.get(path, async (request, reply) => {
      const nowMs = clock.now();
      const context = { nowMs, id: idOf(request), visibleFromMs: visibleFrom(request, nowMs) };
      // Clients with full and with limited history must not share responses.
      const key = `${context.visibleFromMs === null ? 'all' : 'some'} ${request.url}`;
      const prepared = await cached(key, nowMs, async () => prepareAnswer(await handle(request.query, context)));
      return sendAnswer(request, reply, prepared, nowMs);
    });
  }
}

function handlersOf(data: MarketData, limits: RangeLimits): Readonly<Record<Endpoint, Handler>> {
  return {
    assets: async (query, { nowMs }) => data.assets(parseParameters(assetsParameters, query), nowMs),
    asset: async (_query, { id, nowMs }) => found(await data.asset(id, nowMs), id),
    assetHistory: async (query, { id, nowMs, visibleFromMs }) => {
      const request = parseParameters(historyParameters, query);
      const series = { dataset: 'asset_history', assetId: id, interval: request.interval } as const;
      const range = visible(historyRange(request, nowMs, limits), visibleFromMs);
      return found(await data.assetHistory(series, range, nowMs), id);
    },
    assetMarkets: async (query, { id, nowMs }) =>
      found(await data.assetMarkets(id, parseParameters(pageParameters, query), nowMs), id),
    markets: async (query, { nowMs }) => data.markets(parseParameters(marketsParameters, query), nowMs),
    exchanges: async (_query, { nowMs }) => data.exchanges(nowMs),
    exchange: async (_query, { id, nowMs }) => found(await data.exchange(id, nowMs), id),
    rates: async (_query, { nowMs }) => data.rates(nowMs),
    rate: async (_query, { id, nowMs }) => found(await data.rate(id, nowMs), id),
    candles: async (query, { nowMs, visibleFromMs }) => {
      const request = parseParameters(candlesParameters, query);
      const { exchange, baseId, quoteId, interval } = request;
      const series = { dataset: 'candles', exchange, baseId, quoteId, interval } as const;
      const range = visible(pointsRange(request, nowMs, limits), visibleFromMs);
      return found(await data.candles(series, range, nowMs), `${exchange} ${baseId}/${quoteId}`);
    },
  };
}

function pointsHandler(dataset: DatasetName, points: NonNullable<MarketData['points']>, limits: RangeLimits): Handler {
  return async (query, { nowMs, visibleFromMs }) => {
    const request = parseParameters(pointsParameters[dataset], query);
    const { interval, start: _start, end: _end, ...names } = request;
    const key = Object.values(names as Readonly<Record<string, string>>);
    const range = visible(pointsRange(request, nowMs, limits), visibleFromMs);
    const series = seriesOfKey(dataset, [...key, interval]);
    return found(series === null ? null : await points(series, range, nowMs), key.join(' '));
  };
}

function visible(range: TimeRange, visibleFromMs: EpochMs | null): TimeRange {
  return visibleFromMs === null ? range : { ...range, visibleFromMs };
}

function found<Value>(value: Value | null, what: string): Value {
  if (value === null) throw notFound(what);
  return value;
}

/** @throws ServiceRefusal 404 for an id with characters that PostgreSQL cannot hold. */
function idOf(request: FastifyRequest): string {
  const { id = '' } = request.params as { id?: string };
  if (/[\0\p{Surrogate}]/u.test(id)) throw notFound(id.replaceAll(/[\0\p{Surrogate}]/gu, '\ufffd'));
  return id;
}
