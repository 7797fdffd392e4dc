/** Options that select series and a range, for `track`, `backfill` and `export`; and arguments that are series ids. */

import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { badArgument } from '../../errors.ts';
import { type DatasetName, datasetNames, datasets } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { mayBeName, visible } from '../../model/names.ts';
import type { Range } from '../../model/ranges.ts';
import { chooseMarket, type Selection, type SourceChoice } from '../../model/selection.ts';
import { keyNames, nameEnds, type SeriesKey, seriesOfKey } from '../../model/series.ts';
import { wrongInterval } from '../../model/time-text.ts';
import { parseTime } from './parse-options.ts';

interface SourceOptions {
  readonly source?: string;
  readonly symbol?: string;
}

export interface RangeOptions {
  readonly from: string;
  readonly to?: string | undefined;
}

/** The options that name series: each the values of its key. */
export type SeriesNames = Partial<Readonly<Record<'exchange' | 'base' | 'quote' | 'asset' | 'interval', string>>>;

export const times =
  'a date or time (2024-01-31, 2024-01-31T06:00, UTC unless it has an offset: +02:00), an age (11y, 90d, 6h), or ' +
  'milliseconds since 1970';

export interface SelectingOptions {
  readonly json?: true;
  readonly dryRun?: true;
}

/**
 * Adds a command for each dataset, with its options.
 *
 * @param help texts of `--json` and `--dry-run`; `flags` are additional options of both subcommands.
 */
export function addSelections<Options extends SelectingOptions>(
  parent: Command,
  help: { readonly json: string; readonly dryRun?: string; readonly flags?: Readonly<Record<string, string>> },
  run: (selection: Selection, options: Options) => Promise<void>,
): void {
  parent.helpCommand(false);
  for (const name of datasetNames) {
    const { word, about, of } = datasets[name];
    const isOfMarket = of === 'market';
    const command = parent.command(word).description(about);
    // A source may name the market instead.
    const kind = isOfMarket ? 'option' : 'requiredOption';
    seriesOptions(command, name, kind).option(
      '--source <name>',
      'source that gives it, such as binance (default: SOURCE_URL)',
    );
    if (isOfMarket)
      command.option('--symbol <pair>', 'market as the source names it, such as BTC/USDT; needs --source');
    command[kind]('--from <time>', `start: ${times}`)
      .option('--to <time>', 'end (excluded), as --from; default: open-ended')
      .option('--json', help.json);
    for (const [flag, text] of Object.entries(help.flags ?? {})) command.option(flag, text);
    if (help.dryRun !== undefined) command.option('--dry-run', help.dryRun);
    command.action((options: SeriesNames & SourceOptions & Partial<RangeOptions> & Options) => {
      const names = oneEach(options);
      const chosen = isOfMarket
        ? marketChosen(name, names, command)
        : { series: seriesNamed(name, names), source: choiceOf(names) };
      return run({ ...chosen, ...rangeOf({ from: '', ...options }, systemClock.now()) }, options);
    });
  }
}

function choiceOf({ source }: SourceOptions): SourceChoice | null {
  return source === undefined ? null : { name: source.trim(), symbol: null };
}

function marketChosen(
  dataset: DatasetName,
  options: SeriesNames & SourceOptions & Partial<RangeOptions>,
  command: Command,
): Pick<Selection, 'series' | 'source'> {
  const { lacks, names, source } = chooseMarket(options);
  requireOptions(command, options, [
    ...lacks.filter((one) => one !== 'source' && one !== 'symbol'),
    'interval',
    'from',
  ]);
  if (lacks.includes('source')) throw badArgument('--symbol needs --source');
  if (lacks.includes('symbol'))
    throw badArgument(
      '--source needs --symbol, such as --symbol BTC/USDT; of a Market Data Service --exchange, --base and --quote',
    );
  return { series: seriesNamed(dataset, { ...names, interval: options.interval ?? '' }), source };
}

/** Refuses a command without one of its options, which it needs in this case only. */
function requireOptions(command: Command, options: object, needed: readonly string[]): void {
  const missing = needed.find((name) => !Object.hasOwn(options, name));
  const option = command.options.find((one) => one.attributeName() === missing);
  if (option !== undefined)
    command.error(`error: required option '${option.flags}' not specified`, {
      code: 'commander.missingMandatoryOptionValue',
    });
}

/** Stored series that a user selects: by their keys, or by names that one series each has. */
export type StoredSelection = { readonly series: readonly SeriesKey[] } | { readonly names: readonly string[] };

/** Adds the options that select stored series of a dataset; those of markets also by symbol. */
export function storedOptions(command: Command, dataset: DatasetName): Command {
  if (datasets[dataset].of !== 'market') return seriesOptions(command, dataset);
  return seriesOptions(command, dataset, 'option')
    .option('--symbol <pair>', 'market in place of these names: BTC/USDT, BTC/USDT:USDT, or as its source names it')
    .option('--source <name>', 'source of the symbol, where several markets have it');
}

/** @throws TidemarkError BAD_ARGUMENT */
export function storedSelection(
  dataset: DatasetName,
  options: SeriesNames & SourceOptions,
  command: Command,
): StoredSelection {
  const { exchange, base, quote, source, symbol, interval = '' } = options;
  if (symbol === undefined) {
    if (source !== undefined) throw badArgument('--source needs --symbol');
    if (datasets[dataset].of === 'market') requireOptions(command, options, keyNames.market);
    return { series: seriesNamed(dataset, options) };
  }
  if (base !== undefined || quote !== undefined) throw badArgument('--symbol stands in place of --base and --quote');
  if (source !== undefined && exchange !== undefined) throw badArgument('--source stands in place of --exchange');
  requireOptions(command, options, ['interval']);
  const place = exchange ?? source;
  const market = nameOf(symbol, '--symbol');
  // Checks the intervals.
  const keys = seriesNamed(dataset, { exchange: place ?? 'any', base: 'any', quote: 'any', interval });
  const before = place === undefined ? '' : `${nameOf(place, source === undefined ? '--exchange' : '--source')} `;
  return { names: keys.map((key) => `${before}${market} ${key.interval}${nameEnds[dataset]}`) };
}

/**
 * Rejects lists of ids: ids contain no comma, and a list would track a series that does not exist.
 *
 * @throws TidemarkError BAD_ARGUMENT
 */
function oneEach<Names extends SeriesNames>(names: Names): Names {
  for (const option of ['exchange', 'base', 'quote', 'asset'] as const) {
    if (names[option]?.includes(',')) {
      throw badArgument(
        `--${option} ${JSON.stringify(names[option])} is not one id`,
        'run the command once for each, or list them in tidemark.yaml: docs/watch-list.md',
      );
    }
  }
  return names;
}

const namingOptions: Readonly<Record<Exclude<keyof SeriesNames, 'interval'>, readonly [flag: string, help: string]>> = {
  exchange: ['--exchange <id>', 'exchange, such as binance'],
  base: ['--base <id>', 'asset that is bought, such as bitcoin'],
  quote: ['--quote <id>', 'asset it is paid with, such as tether'],
  asset: ['--asset <id>', 'asset, such as bitcoin'],
};

/** Adds the options that name series of a dataset. @param kind `option` where a source may name them instead. */
function seriesOptions(
  command: Command,
  dataset: DatasetName,
  kind: 'option' | 'requiredOption' = 'requiredOption',
): Command {
  const { of, intervals } = datasets[dataset];
  for (const name of keyNames[of]) if (name !== 'interval') command[kind](...namingOptions[name]);
  const [only = '', another] = intervals;
  return another === undefined
    ? command.option('--interval <list>', `only ${only}`, only)
    : command[kind]('--interval <list>', `one or more of ${intervals.join(', ')}, with commas`);
}

/** @throws TidemarkError BAD_ARGUMENT */
export function seriesNamed(dataset: DatasetName, options: SeriesNames): SeriesKey[] {
  const { of } = datasets[dataset];
  const names = keyNames[of].filter((name) => name !== 'interval');
  const key = names.map((name) => nameOf(options[name] ?? '', `--${name}`));
  return intervalsOf(options.interval ?? '').map((interval) => {
    const series = seriesOfKey(dataset, [...key, interval]);
    if (series !== null) return series;
    throw badArgument(`--interval: ${wrongInterval(interval, datasets[dataset])}`);
  });
}

/** Any number of series. @param usual those without one. */
export function seriesArgument(command: Command, usual: string): Command {
  return command.argument(
    '[series...]',
    `ids or names of series, as \`status\` shows them, or a pattern such as "kraken *" (default: ${usual})`,
  );
}

/** Adds the options of a range that a command acts on. */
export function actedRangeOptions(command: Command): Command {
  return command
    .option('--from <time>', `only the periods from the one at this time on: ${times} (default: all)`)
    .option('--to <time>', 'only up to here (excluded), as --from (default: now)');
}

/** Absent: everything. @throws TidemarkError BAD_ARGUMENT */
export function actedRange({ from, to }: Partial<RangeOptions>, nowMs: EpochMs): Range | undefined {
  if (from === undefined) return to === undefined ? undefined : { startMs: 0, endMs: parseTime(to, '--to', nowMs) };
  const { fromMs, toMs } = rangeOf({ from, to }, nowMs);
  return { startMs: fromMs, endMs: toMs ?? nowMs };
}

function rangeOf(options: RangeOptions, nowMs: EpochMs): { fromMs: EpochMs; toMs: EpochMs | null } {
  const fromMs = parseTime(options.from, '--from', nowMs);
  const toMs = options.to === undefined ? null : parseTime(options.to, '--to', nowMs);
  if (toMs !== null && fromMs >= toMs) {
    throw badArgument(`--from ${options.from} is not before --to ${options.to}`);
  }
  if (toMs === null && fromMs > nowMs) {
    throw badArgument(`--from ${options.from} lies in the future`);
  }
  return { fromMs, toMs };
}

/** @throws TidemarkError BAD_ARGUMENT for an empty interval. */
function intervalsOf(list: string): string[] {
  const intervals = list.split(',').map((interval) => interval.trim());
  if (intervals.includes('')) {
    throw badArgument(
      `--interval ${JSON.stringify(list)} names ` +
        `${intervals.length === 1 ? 'no interval' : 'no interval before or after a comma'}`,
      'put commas only between intervals, as in m1,h1',
    );
  }
  return [...new Set(intervals)];
}

/** @throws TidemarkError BAD_ARGUMENT */
export function nameOf(text: string, option: string): string {
  const name = text.trim();
  if (!mayBeName(name)) {
    const shown = visible(JSON.stringify(text.slice(0, 80)));
    throw badArgument(`${option} ${shown} is not an id`);
  }
  return name;
}
