/** Options that select series and a range, for `track`, `backfill` and `export`; and arguments that are series ids. */

import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import {
  candleIntervals,
  type EpochMs,
  historyIntervals,
  isCandleInterval,
  isHistoryInterval,
} from '../../model/intervals.ts';
import { mayBeName, visible } from '../../model/names.ts';
import type { Selection, SourceChoice } from '../../model/selection.ts';
import type { SeriesKey } from '../../model/series.ts';
import { parseTime } from './parse-options.ts';

interface SourceOptions {
  readonly source?: string;
  readonly symbol?: string;
}

interface RangeOptions {
  readonly from: string;
  readonly to?: string;
}

export interface CandleNames {
  readonly exchange: string;
  readonly base: string;
  readonly quote: string;
  readonly interval: string;
}

export interface HistoryNames {
  readonly asset: string;
  readonly interval: string;
}

export const times =
  'a date or time (2024-01-31, 2024-01-31T06:00, UTC unless it has an offset: +02:00), an age (11y, 90d, 6h), or milliseconds since 1970';

export interface SelectingOptions {
  readonly json?: true;
  readonly dryRun?: true;
}

/**
 * Adds `candles` and `history` to a command, each with its options.
 *
 * @param help texts of `--json` and `--dry-run`; `flags` are additional options of both subcommands.
 */
export function addSelections<Options extends SelectingOptions>(
  parent: Command,
  help: {
    readonly json: string;
    readonly dryRun?: string;
    readonly flags?: Readonly<Record<string, string>>;
  },
  run: (selection: Selection, options: Options) => Promise<void>,
): void {
  const flags = (command: Command, kind: 'option' | 'requiredOption') => {
    command[kind]('--from <time>', `start: ${times}`)
      .option('--to <time>', 'end (excluded), as --from; default: open-ended')
      .option('--json', help.json);
    for (const [flag, text] of Object.entries(help.flags ?? {})) command.option(flag, text);
    return help.dryRun === undefined ? command : command.option('--dry-run', help.dryRun);
  };
  const candles = parent.command('candles').description('candles of a market');
  flags(sourceOptions(candleOptions(candles, 'option'), true), 'option').action(
    (options: Partial<CandleNames> & SourceOptions & Partial<RangeOptions> & Options) => {
      const { from, ...chosen } = candlesChosen(oneEach(options), candles);
      return run({ ...chosen, ...rangeOf({ ...options, from }, systemClock.now()) }, options);
    },
  );
  const history = parent.command('history').description('price history of an asset');
  flags(sourceOptions(historyOptions(history), false), 'requiredOption').action(
    (options: HistoryNames & SourceOptions & RangeOptions & Options) =>
      run(
        {
          series: historyNamed(oneEach(options)),
          source: choiceOf(options),
          ...rangeOf(options, systemClock.now()),
        },
        options,
      ),
  );
}

function sourceOptions(command: Command, hasSymbol: boolean): Command {
  command.option('--source <name>', 'source that gives it, such as binance (default: SOURCE_URL)');
  return hasSymbol
    ? command.option('--symbol <pair>', 'market as the source names it, such as BTC/USDT; needs --source')
    : command;
}

function choiceOf({ source, symbol }: SourceOptions): SourceChoice | null {
  return source === undefined ? null : { name: source.trim(), symbol: symbol?.trim() ?? null };
}

/** The options of these names, in this order. */
function optionsNamed(command: Command, names: readonly string[]): Array<{ name: string; flags: string }> {
  return names.flatMap((name) => {
    const flags = command.options.find((option) => option.attributeName() === name)?.flags;
    return flags === undefined ? [] : [{ name, flags }];
  });
}

/** With a source its symbol names the market, and the names are optional. */
function candlesChosen(
  options: Partial<CandleNames> & SourceOptions & Partial<RangeOptions>,
  command: Command,
): Pick<Selection, 'series' | 'source'> & Pick<RangeOptions, 'from'> {
  const choice = choiceOf(options);
  const isNamed = choice === null || (choice.symbol === null && options.exchange !== undefined);
  const needed = isNamed ? ['exchange', 'base', 'quote', 'interval', 'from'] : ['interval', 'from'];
  const missing = optionsNamed(command, needed).find(({ name }) => !Object.hasOwn(options, name));
  if (missing !== undefined)
    command.error(`error: required option '${missing.flags}' not specified`, {
      code: 'commander.missingMandatoryOptionValue',
    });
  if (choice === null && options.symbol !== undefined)
    throw new TidemarkError('BAD_ARGUMENT', '--symbol needs --source');
  if (choice !== null && choice.symbol === null && !isNamed)
    throw new TidemarkError(
      'BAD_ARGUMENT',
      '--source needs --symbol, such as --symbol BTC/USDT; of a Market Data Service --exchange, --base and --quote',
    );
  const { exchange, base, quote, interval = '', from = '' } = options;
  const named = {
    exchange: exchange ?? options.source,
    base: base ?? 'base',
    quote: quote ?? 'quote',
    interval,
  };
  return {
    series: candlesNamed({ ...named, exchange: named.exchange ?? '' }),
    source: choice === null ? null : { ...choice, exchange, base, quote },
    from,
  };
}

/**
 * Rejects lists of ids: ids contain no comma, and a list would track a series that does not exist.
 *
 * @throws TidemarkError BAD_ARGUMENT
 */
function oneEach<Names extends Partial<CandleNames & HistoryNames>>(names: Names): Names {
  for (const option of ['exchange', 'base', 'quote', 'asset'] as const) {
    if (names[option]?.includes(',')) {
      throw new TidemarkError('BAD_ARGUMENT', `--${option} ${JSON.stringify(names[option])} is not one id`, {
        remedy: 'run the command once for each, or list them in tidemark.yaml: docs/watch-list.md',
      });
    }
  }
  return names;
}

/** Adds the options that name candles. @param kind `option` where a source may name them instead. */
export function candleOptions(command: Command, kind: 'option' | 'requiredOption' = 'requiredOption'): Command {
  return command[kind]('--exchange <id>', 'exchange, such as binance')
    [kind]('--base <id>', 'asset that is bought, such as bitcoin')
    [kind]('--quote <id>', 'asset it is paid with, such as tether')
    [kind]('--interval <list>', `one or more of ${candleIntervals.join(', ')}, with commas`);
}

/** Adds the options that name histories. */
export function historyOptions(command: Command): Command {
  return command
    .requiredOption('--asset <id>', 'asset, such as bitcoin')
    .requiredOption('--interval <list>', `one or more of ${historyIntervals.join(', ')}, with commas`);
}

/** @throws TidemarkError BAD_ARGUMENT */
export function candlesNamed(options: CandleNames): SeriesKey[] {
  const exchange = nameOf(options.exchange, '--exchange');
  const baseId = nameOf(options.base, '--base');
  const quoteId = nameOf(options.quote, '--quote');
  return intervalsOf(options.interval).map((interval): SeriesKey => {
    if (!isCandleInterval(interval)) throw badInterval(interval, 'candles', candleIntervals);
    return { dataset: 'candles', exchange, baseId, quoteId, interval };
  });
}

/** @throws TidemarkError BAD_ARGUMENT */
export function historyNamed(options: HistoryNames): SeriesKey[] {
  const assetId = nameOf(options.asset, '--asset');
  return intervalsOf(options.interval).map((interval): SeriesKey => {
    if (!isHistoryInterval(interval)) throw badInterval(interval, 'asset history', historyIntervals);
    return { dataset: 'asset_history', assetId, interval };
  });
}

function rangeOf(options: RangeOptions, nowMs: EpochMs): { fromMs: EpochMs; toMs: EpochMs | null } {
  const fromMs = parseTime(options.from, '--from', nowMs);
  const toMs = options.to === undefined ? null : parseTime(options.to, '--to', nowMs);
  if (toMs !== null && fromMs >= toMs) {
    throw new TidemarkError('BAD_ARGUMENT', `--from ${options.from} is not before --to ${options.to}`);
  }
  if (toMs === null && fromMs > nowMs) {
    throw new TidemarkError('BAD_ARGUMENT', `--from ${options.from} lies in the future`);
  }
  return { fromMs, toMs };
}

/** @throws TidemarkError BAD_ARGUMENT for an empty interval. */
function intervalsOf(list: string): string[] {
  const intervals = list.split(',').map((interval) => interval.trim());
  if (intervals.includes('')) {
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `--interval ${JSON.stringify(list)} names ${intervals.length === 1 ? 'no interval' : 'no interval before or after a comma'}`,
      { remedy: 'put commas only between intervals, as in m1,h1' },
    );
  }
  return [...new Set(intervals)];
}

/** @throws TidemarkError BAD_ARGUMENT */
export function nameOf(text: string, option: string): string {
  const name = text.trim();
  if (!mayBeName(name)) {
    const shown = visible(JSON.stringify(text.slice(0, 80)));
    throw new TidemarkError('BAD_ARGUMENT', `${option} ${shown} is not an id`);
  }
  return name;
}

function badInterval(interval: string, dataset: string, known: readonly string[]): TidemarkError {
  return new TidemarkError(
    'BAD_ARGUMENT',
    `--interval: ${dataset} has no interval ${JSON.stringify(interval)}, only ${known.join(', ')}`,
  );
}
