/**
 * Version 3 of the interface, as its public service has it at rest.coincap.io: lists and history with a key and credits
 * a month, without candles.
 *
 * Source: pro.coincap.io/api-docs. Prices of lists are those of the synthetic market: the public service expands
 * doubles. An asset's history also has the date and the supply.
 */

import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import { longestRangeMs } from '../../model/request-range.ts';
import type { JsonText } from '../../service/market-data.ts';
import { historyRange } from '../../service/ranges.ts';
import { bearerKey, parseParameters } from '../../service/request.ts';
import { errorBody, ServiceRefusal } from '../../service/response.ts';
import { assetsParameters, historyParameters, marketsParameters, pageParameters } from '../../v2/requests.ts';
import type { Asset, Exchange } from '../../v2/resources.ts';
import { assetPlans } from '../catalogue.ts';
import { fixedText } from '../digits.ts';
import { unminedSupply } from '../faults/changes.ts';
import { one } from '../figures.ts';
import type { Venue, VenueAnswer, VenueOptions, VenueRequest, VenueRoute } from './venue.ts';

const perMinute = 600;
const bytesPerCredit = 2500;

const failed = (status: number, message: string, nowMs: EpochMs): VenueAnswer => ({
  status,
  body: errorBody(message, nowMs),
});

export function coincapV3({ apiKey, creditsPerMonth }: VenueOptions): Venue {
  const credits = new Map<string, number>();
  const used = (nowMs: EpochMs) => credits.get(monthOf(nowMs)) ?? 0;
  return {
    exchange: null,
    basePath: '/v3',
    limit: { amount: perMinute, periodMs: minuteMs, kind: 'rolling' },
    refuse: ({ inMs, freeAtMs }) => ({
      ...failed(429, 'rate limit exceeded', freeAtMs - inMs),
      headers: { 'retry-after': String(Math.ceil(inMs / 1000)) },
    }),
    admit({ header, query, nowMs }) {
      if (apiKey !== undefined) {
        const key = bearerKey(header('authorization')) ?? query.apiKey;
        if (key === undefined) return failed(401, 'an API key is required', nowMs);
        if (key !== apiKey) return failed(403, 'invalid API key', nowMs);
      }
      return creditsPerMonth !== undefined && used(nowMs) >= creditsPerMonth
        ? failed(403, 'no credits are left this month', nowMs)
        : null;
    },
    sent({ status, bytes, nowMs }) {
      if (status === 200) credits.set(monthOf(nowMs), used(nowMs) + 1 + Math.ceil(bytes / bytesPerCredit));
    },
    creditsUsed: used,
    failure: { status: 500, body: '{"error":"internal server error"}' },
    unknownPath: { status: 404, body: '{"error":"not found"}' },
    routes,
  };
}

/** Credits are counted by calendar month, UTC: `2024-05`. */
function monthOf(timeMs: EpochMs): string {
  return new Date(timeMs).toISOString().slice(0, 7);
}

/** @param read the JSON text of `data`; null: an unknown id. */
function route(path: string, read: (request: VenueRequest) => Promise<JsonText | null>): VenueRoute {
  return {
    path,
    async answer(request) {
      const { nowMs, params } = request;
      try {
        const data = request.data.isEmpty ? '[]' : await read(request);
        if (data === null) return failed(404, `${params.id} not found`, nowMs);
        return { status: 200, body: `{"timestamp":${nowMs},"data":${data}}` };
      } catch (error) {
        if (error instanceof ServiceRefusal) return failed(error.status, error.message, nowMs);
        throw error;
      }
    },
  };
}

const id = ({ params }: VenueRequest) => params.id ?? '';

const routes: readonly VenueRoute[] = [
  route('/assets', async (request) => {
    const { data, nowMs, query } = request;
    const rows = JSON.parse(await data.service.assets(parseParameters(assetsParameters, query), nowMs));
    const assets = (rows as Asset[]).map((row) => data.service.asset(row.id, nowMs));
    return `[${(await Promise.all(assets)).map(asset).join(',')}]`;
  }),
  route('/assets/:id', async (request) => {
    const found = await request.data.service.asset(id(request), request.nowMs);
    return found === null ? null : asset(found);
  }),
  route('/assets/:id/history', async (request) => history(request)),
  route('/assets/:id/markets', (request) =>
    request.data.service.assetMarkets(id(request), parseParameters(pageParameters, request.query), request.nowMs),
  ),
  route('/rates', ({ data, nowMs }) => data.service.rates(nowMs)),
  route('/rates/:id', (request) => request.data.service.rate(id(request), request.nowMs)),
  route('/exchanges', async ({ data, nowMs }) => {
    const rows: Exchange[] = JSON.parse(await data.service.exchanges(nowMs));
    return JSON.stringify(rows.map(({ id, ...rest }) => ({ exchangeId: id, ...rest })));
  }),
  route('/markets', ({ data, nowMs, query }) => data.service.markets(parseParameters(marketsParameters, query), nowMs)),
];

/** An asset of a list or by itself. */
function asset(text: JsonText | null): JsonText {
  const { rank, ...rest } = JSON.parse(text ?? '{}') as Asset;
  return JSON.stringify({ ...rest, rank: rank === null ? null : String(rank), explorer: null, tokens: {} });
}

function history(request: VenueRequest): JsonText | null {
  const { data, nowMs, query } = request;
  const parameters = parseParameters(historyParameters, query);
  const range = historyRange(parameters, nowMs, longestRangeMs);
  const points = data.history(id(request), parameters.interval, range);
  const plan = assetPlans.find((one) => one.id === id(request));
  const rows = points?.map(({ priceUsd, time }) => ({
    priceUsd,
    time,
    date: new Date(time).toISOString(),
    circulatingSupply: fixedText(BigInt((plan?.supply ?? 0) - unminedSupply(id(request), time)) * one),
  }));
  return rows === undefined ? null : JSON.stringify(data.cut(rows));
}
