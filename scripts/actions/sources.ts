/**
 * `tidemark sources`: every source with its limits, use and state, what a user orders for one, and what it refused.
 * `tidemark markets`: the markets of one.
 */

import { badArgument } from '../../errors.ts';
import { counted, formatCount, formatDuration, formatSpan, formatTime, isoTime } from '../../model/format.ts';
import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import { marketKind } from '../../model/market.ts';
import { defaultSource, type Limit } from '../../model/sources.ts';
import { heldText, loweredJson, outageJson, pauseJson } from '../../operations/source-health.ts';
import { marketsOf, pairOf, sourceNamed } from '../../operations/sources/markets.ts';
import { changeBudget, pauseSource, resumeSource } from '../../operations/sources/orders.ts';
import { readSources, type SourceState } from '../../operations/sources/state.ts';
import { awayHeadline } from '../../operations/status/facts.ts';
import { loweredText } from '../../planning/budget.ts';
import { sinceText } from '../../planning/headline.ts';
import { outageText, whatFails } from '../../planning/source-outage.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import { type LoggedRefusal, readRefusals } from '../../store/ledger/source-refusals.ts';
import { readSourceTexts, type StoredMarket } from '../../store/series/sources.ts';
import { userAtHost } from '../input/asked-by.ts';
import { parseWhole } from '../input/parse-options.ts';
import type { JsonDocument } from '../output/documents.ts';
import { type Column, noteOnStderr, printText, table, terminalWidth } from '../output/table.ts';

export async function run(options: { json?: true }): Promise<void> {
  await withContext({ command: 'sources' }, async (context) => {
    const nowMs = context.clock.now();
    const lines = await readSources(context, nowMs, (error) => noteOnStderr(awayHeadline(error).text));
    if (options.json) console.log(JSON.stringify(asJson(lines), null, 2));
    else {
      const nameOf = await readSourceTexts(context.database, nowMs);
      for (const { source, outage } of lines)
        if (outage !== null) printText(`${outageText(outage, nowMs, nameOf(source))}\n`);
      for (const { source, lowered } of lines)
        if (lowered !== null) printText(`the budget of ${source} is ${loweredText(lowered)}\n`);
      console.log(table(columns(nowMs), lines, terminalWidth()));
    }
  });
}

const addressOf = ({ url, proxy }: SourceState): string =>
  proxy === null ? (url ?? 'not set') : `${url} through ${proxy}`;

const columns = (nowMs: EpochMs): readonly Column<SourceState>[] => [
  { title: 'source', value: ({ source }) => source },
  { title: 'profile', value: ({ profile }) => profile, omit: 2 },
  { title: 'series', value: ({ series }) => formatCount(series), right: true },
  {
    title: 'used',
    value: ({ lastMinute, requestsPerMinute }) =>
      requestsPerMinute === 0
        ? `${formatCount(lastMinute)}/min`
        : `${formatCount(lastMinute)} of ${formatCount(requestsPerMinute)}/min`,
  },
  { title: 'limits', value: ({ limits }) => limits.map(limitText).join(', '), omit: 1 },
  {
    title: 'credits',
    value: ({ longUse, limits }) =>
      longUse === null ? '' : `${formatCount(longUse)} of ${formatCount(limits.at(-1)?.amount ?? 0)}`,
    omit: 2,
  },
  { title: 'state', value: (line) => stateOf(line, nowMs) },
  { title: 'address', value: addressOf, omit: 3, shorten: 'end' },
];

const periodNames: ReadonlyMap<number, string> = new Map([
  [1000, 'a second'],
  [minuteMs, 'a minute'],
]);

function limitText({ unit, amount, periodMs }: Limit): string {
  const what = unit === 'weight' ? `${formatCount(amount)} weight` : counted(amount, unit);
  return `${what} ${periodNames.get(periodMs) ?? `in ${formatDuration(periodMs)}`}`;
}

function stateOf(line: SourceState, nowMs: EpochMs): string {
  const { problem, pause, outage, lastRequestMs, series } = line;
  if (problem !== null) return problem;
  if (pause !== null) return sinceText(pause);
  if (outage !== null) return `${whatFails[outage.kind]} since ${formatTime(outage.sinceMs)}`;
  const hold = heldText(line, nowMs);
  if (hold !== null) return hold;
  if (lastRequestMs !== null) return `answers, last ${formatDuration(Math.max(0, nowMs - lastRequestMs))} ago`;
  return series === 0 ? 'not used' : 'not asked yet';
}

function asJson(lines: readonly SourceState[]): JsonDocument<'sources'> {
  return {
    sources: lines.map((line) => ({
      name: line.source,
      profile: line.profile,
      url: line.url,
      proxy: line.proxy,
      isDefault: line.source === defaultSource,
      series: line.series,
      requestsPerMinute: line.requestsPerMinute,
      lastMinute: line.lastMinute,
      limits: line.limits.map(({ unit, amount, periodMs }) => ({ unit, amount, seconds: periodMs / 1000 })),
      creditsUsed: line.longUse,
      lastRequest: isoTime(line.lastRequestMs),
      problem: line.problem,
      outage: outageJson(line.outage),
      pausedSeconds: line.pausedMs === null ? null : line.pausedMs / 1000,
      paused: pauseJson(line.pause),
      lowered: loweredJson(line.lowered),
      workers: line.workers,
    })),
  };
}

const withDatabase = (work: (context: Context) => Promise<void>) =>
  withContext({ command: 'sources', needsDatabase: true }, work);

export const pause = (name: string) =>
  withDatabase(async (context) => console.log(await pauseSource(context, name, userAtHost())));

export const resume = (name: string) => withDatabase(async (context) => console.log(await resumeSource(context, name)));

export interface BudgetOptions {
  readonly reset?: true;
}

const largest = 1_000_000;

export async function budget(name: string, given: string | undefined, { reset }: BudgetOptions): Promise<void> {
  if ((given === undefined) !== (reset === true))
    throw badArgument('either a number of requests a minute or --reset is needed');
  const perMinute = given === undefined ? null : parseWhole(given, 'per-minute', 1, largest);
  const order = { name, perMinute, by: userAtHost() };
  await withDatabase(async (context) => console.log(await changeBudget(context, order)));
}

const most = 20;

export async function refusals(name: string, { json }: { json?: true }): Promise<void> {
  await withDatabase(async (context) => {
    const source = (await sourceNamed(context, name.trim())).facts.name;
    const found = await readRefusals.on(context.database.pool, { source, most });
    if (json) {
      const document: JsonDocument<'source-refusals'> = {
        source,
        refusals: found.map(({ timeMs, range, ...refusal }) => ({
          time: isoTime(timeMs),
          from: isoTime(range?.startMs ?? null),
          to: isoTime(range?.endMs ?? null),
          ...refusal,
        })),
      };
      console.log(JSON.stringify(document, null, 2));
    } else if (found.length === 0) console.log(`${source} has refused no request in the ledger`);
    else console.log(table(refusalColumns, found, terminalWidth()));
  });
}

const refusalColumns: ReadonlyArray<Column<LoggedRefusal>> = [
  { title: 'time', value: ({ timeMs }) => formatTime(timeMs) },
  { title: 'kind', value: ({ kind, status }) => (status === null ? kind : `${kind} (${status})`) },
  { title: 'lane', value: ({ lane }) => lane, omit: 2 },
  { title: 'series', value: ({ series }) => series ?? '', shorten: 'end' },
  { title: 'range', value: ({ range }) => (range === null ? '' : formatSpan(range)), omit: 1 },
  { title: 'message', value: ({ message }) => message, shorten: 'end' },
];

export async function listMarkets(options: { source: string; search?: string; json?: true }): Promise<void> {
  await withContext({ command: 'markets' }, async (context) => {
    const source = await sourceNamed(context, options.source.trim());
    const all = await marketsOf(context, source, context.clock.now());
    const wanted = options.search?.trim().toUpperCase() ?? '';
    const markets = all.filter((market) =>
      [market.symbol, pairOf(market)].some((name) => name.toUpperCase().includes(wanted)),
    );
    if (options.json) {
      const document: JsonDocument<'markets'> = {
        source: source.facts.name,
        asOf: isoTime(all[0]?.seenAtMs ?? null),
        markets: markets.map(({ symbol, base, quote, listedMs, isTrading, contract }) => ({
          ...{ symbol, base, quote, marketKind: marketKind(quote) },
          listed: isoTime(listedMs),
          trading: isTrading,
          contract,
        })),
      };
      console.log(JSON.stringify(document, null, 2));
      return;
    }
    if (markets.length > 0) console.log(table(marketColumns, markets, terminalWidth()));
    console.log(
      `${counted(markets.length, 'market')}${markets.length === all.length ? '' : ` of ${formatCount(all.length)}`}`,
    );
  });
}

const marketColumns: readonly Column<StoredMarket>[] = [
  { title: 'pair', value: pairOf },
  { title: 'symbol', value: ({ symbol }) => symbol },
  { title: 'kind', value: ({ quote }) => marketKind(quote), omit: 3 },
  { title: 'listed', value: ({ listedMs }) => (listedMs === null ? '' : formatTime(listedMs)), omit: 1 },
  { title: 'trading', value: ({ isTrading }) => (isTrading ? 'yes' : 'no') },
  {
    title: 'contract',
    value: ({ contract }) => (contract === null ? '' : `${contract.size} ${contract.asset}`),
    omit: 2,
  },
];
