/** The routes of the interface (specification, section 4), relative to the base path. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { type DatasetName, datasetNames } from '../model/datasets/index.ts';
import type { EpochMs } from '../model/intervals.ts';
import { type CandleSeries, type HistorySeries, type SeriesKey, seriesOfKey, type TimeRange } from '../model/series.ts';
import { type Endpoint, pointsPath, routes } from '../v2/paths.ts';
import {
  assetsParameters,
  candlesParameters,
  historyParameters,
  marketsParameters,
  pageParameters,
  pointsParameters,
} from '../v2/requests.ts';
import { prefersArrow } from './accepted.ts';
import { arrowOf } from './arrow.ts';
import type { JsonText, MarketData, SeriesAnswer } from './market-data.ts';
import { historyRange, pointsRange, type RangeLimits } from './ranges.ts';
import { parseParameters } from './request.ts';
import { type Answer, addVary, notFound, prepareAnswer, sendAnswer } from './response.ts';
import { type CacheSettings, responseCache } from './response-cache.ts';

/** The context of a request, besides its query. */
interface RequestContext {
  /** Read once, so that the rows and the timestamp agree. */
  readonly nowMs: EpochMs;
  readonly id: string;
  /** Earlier history is hidden from the client; null: all history is visible. */
  readonly visibleFromMs: EpochMs | null;
}

/** Reads a response's `data`. */
type Handler = (query: unknown, context: RequestContext) => Promise<JsonText | Answer>;

/** What a request asks of a series. */
interface Asked<Series extends SeriesKey> {
  readonly series: Series;
  readonly range: TimeRange;
  /** The market or asset, in the message that it is not found. */
  readonly name: string;
}
type Ask<Series extends SeriesKey> = (query: unknown, context: RequestContext) => Asked<Series>;

interface RouteOptions {
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
  const asks = seriesAsks(limits);
  const handlers = handlersOf(data, asks);
  const cached = responseCache(settings, clock);
  const { points } = data;
  const arrowHandlers: Partial<Record<Endpoint, Handler>> =
    points === undefined
      ? {}
      : { candles: arrowHandler(asks.candles, points), assetHistory: arrowHandler(asks.assetHistory, points) };
  for (const { endpoint, path } of routes) answer(path, handlers[endpoint], arrowHandlers[endpoint]);
  if (points !== undefined)
    for (const dataset of datasetNames) {
      const ask = pointsAsk(dataset, limits);
      answer(pointsPath(dataset), seriesHandler(ask, points), arrowHandler(ask, points));
    }

  /** @param arrow answers clients that prefer Arrow; absent: there is JSON alone. */
  function answer(path: string, json: Handler, arrow?: Handler): void {
    app.get(path, async (request, reply) => {
      const nowMs = clock.now();
      const context = { nowMs, id: idOf(request), visibleFromMs: visibleFrom(request, nowMs) };
      if (arrow !== undefined) addVary(reply, 'accept');
      const handle = arrow !== undefined && prefersArrow(request.headers.accept) ? arrow : json;
      // Clients with full and with limited history must not share responses.
      const shown = context.visibleFromMs === null ? 'all' : 'some';
      const key = `${handle === arrow ? 'arrow' : 'json'} ${shown} ${request.url}`;
      const prepared = await cached(key, nowMs, async () => prepareAnswer(await handle(request.query, context)));
      return sendAnswer(request, reply, prepared, nowMs);
    });
  }
}

function handlersOf(data: MarketData, asks: ReturnType<typeof seriesAsks>): Readonly<Record<Endpoint, Handler>> {
  return {
    assets: async (query, { nowMs }) => data.assets(parseParameters(assetsParameters, query), nowMs),
    asset: async (_query, { id, nowMs }) => found(await data.asset(id, nowMs), id),
    assetHistory: seriesHandler(asks.assetHistory, data.assetHistory),
    assetMarkets: async (query, { id, nowMs }) =>
      found(await data.assetMarkets(id, parseParameters(pageParameters, query), nowMs), id),
    markets: async (query, { nowMs }) => data.markets(parseParameters(marketsParameters, query), nowMs),
    exchanges: async (_query, { nowMs }) => data.exchanges(nowMs),
    exchange: async (_query, { id, nowMs }) => found(await data.exchange(id, nowMs), id),
    rates: async (_query, { nowMs }) => data.rates(nowMs),
    rate: async (_query, { id, nowMs }) => found(await data.rate(id, nowMs), id),
    candles: seriesHandler(asks.candles, data.candles),
  };
}

/** The series of the specified interface. */
function seriesAsks(limits: RangeLimits) {
  const assetHistory: Ask<HistorySeries> = (query, { id, nowMs, visibleFromMs }) => {
    const request = parseParameters(historyParameters, query);
    const series = { dataset: 'asset_history', assetId: id, interval: request.interval } as const;
    return { series, range: visible(historyRange(request, nowMs, limits), visibleFromMs), name: id };
  };
  const candles: Ask<CandleSeries> = (query, { nowMs, visibleFromMs }) => {
    const request = parseParameters(candlesParameters, query);
    const { exchange, baseId, quoteId, interval } = request;
    const series = { dataset: 'candles', exchange, baseId, quoteId, interval } as const;
    const range = visible(pointsRange(request, nowMs, limits), visibleFromMs);
    return { series, range, name: `${exchange} ${baseId}/${quoteId}` };
  };
  return { assetHistory, candles };
}

function pointsAsk(dataset: DatasetName, limits: RangeLimits): Ask<SeriesKey> {
  return (query, { nowMs, visibleFromMs }) => {
    const request = parseParameters(pointsParameters[dataset], query);
    const { interval, start: _start, end: _end, ...names } = request;
    const key = Object.values(names as Readonly<Record<string, string>>);
    const range = visible(pointsRange(request, nowMs, limits), visibleFromMs);
    const name = key.join(' ');
    return { series: found(seriesOfKey(dataset, [...key, interval]), name), range, name };
  };
}

type Read<Series extends SeriesKey> = (
  series: Series,
  range: TimeRange,
  nowMs: EpochMs,
) => Promise<SeriesAnswer | null>;

function seriesHandler<Series extends SeriesKey>(ask: Ask<Series>, read: Read<Series>): Handler {
  return async (query, context) => {
    const { series, range, name } = ask(query, context);
    return found(await read(series, range, context.nowMs), name);
  };
}

function arrowHandler<Series extends SeriesKey>(ask: Ask<Series>, points: Read<SeriesKey>): Handler {
  return async (query, context) => {
    const { series, range, name } = ask(query, context);
    const answer = found(await points(series, range, context.nowMs), name);
    return { ...answer, rows: await arrowOf(series, answer) };
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
