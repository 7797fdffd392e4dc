/** The text of a watch list's file to what it means, or to all that is wrong with it. */

import { dayMs, type EpochMs, hourMs } from '../contract/intervals.ts';
import type { StoredDataset } from '../contract/series.ts';
import { ageBefore, isAge } from '../planning/age.ts';
import { cadenceMs } from '../planning/cadence.ts';
import { isoMoment } from '../planning/iso-moment.ts';
import type { Start } from '../planning/watch-changes.ts';
import type { Place, Problem } from './problem.ts';
import { type WatchListText, watchListShape } from './shape.ts';
import { problemsOf } from './shape-problems.ts';
import {
  type AssetFilter,
  type AssetMarketsEntry,
  type CandleEntry,
  type HistoryEntry,
  type MarketFilter,
  type RereadSaid,
  type WatchList,
  wholeLists,
} from './watch-list.ts';
import { type Located, readYaml } from './yaml.ts';

export type Read =
  | { readonly kind: 'list'; readonly list: WatchList }
  /** In the order of the file, at least one. */
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

/** @param nowMs what lies in the future cannot be backfilled. */
export function readWatchList(text: string, nowMs: EpochMs): Read {
  const yaml = readYaml(text);
  if (yaml.kind === 'problems') return yaml;
  const parsed = watchListShape.safeParse(yaml.value);
  if (!parsed.success) return { kind: 'problems', problems: inOrder(problemsOf(parsed.error, yaml)) };
  const reader = new Reader(yaml, nowMs);
  const list = reader.read(parsed.data);
  return reader.problems.length > 0
    ? { kind: 'problems', problems: inOrder(reader.problems) }
    : { kind: 'list', list };
}

function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
}

/** Of one entry: what three lists of names make together outgrows any memory. */
const mostSeries = 50_000;

type Path = readonly (string | number)[];

/** Reads what has the right shape, and collects what is wrong with its meaning. */
class Reader {
  readonly problems: Problem[] = [];
  readonly #yaml: Extract<Located, { kind: 'value' }>;
  readonly #nowMs: EpochMs;

  constructor(yaml: Extract<Located, { kind: 'value' }>, nowMs: EpochMs) {
    this.#yaml = yaml;
    this.#nowMs = nowMs;
  }

  read(text: WatchListText): WatchList {
    const said = Object.keys(text).filter((key) => key !== 'prune');
    if (said.length === 0) this.#wrong([], 'says nothing: it needs candles, history, lists or a setting');
    const list: WatchList = {
      candles: (text.candles ?? []).map((entry, index) => this.#candles(entry, ['candles', index])),
      history: (text.history ?? []).map((entry, index) => this.#history(entry, ['history', index])),
      assetMarkets: (text.lists?.['asset-markets'] ?? []).map((entry, index) =>
        this.#assetMarkets(entry, ['lists', 'asset-markets', index]),
      ),
      lists: new Map(
        wholeLists.flatMap((name) => {
          const every = text.lists?.[name];
          return every === undefined ? [] : [[name, every === 'off' ? null : cadenceMs(every)] as const];
        }),
      ),
      reread: this.#reread(text['read-again'] ?? {}),
      retention: this.#retention(text.retention ?? {}),
      prune: text.prune ?? false,
    };
    this.#refuseRepeated('candles', list.candles);
    this.#refuseRepeated('history', list.history);
    return list;
  }

  #candles(entry: NonNullable<WatchListText['candles']>[number], path: Path): CandleEntry {
    const filter = this.#market(entry, path);
    if (entry.top === undefined && isAny(filter))
      this.#wrong(path, 'names no market: it needs exchange, base, quote or top');
    const sizes = [filter.exchange, filter.base, filter.quote, many(entry.interval)];
    if (sizes.reduce((product, names) => product * (names?.length ?? 1), 1) > mostSeries)
      this.#wrong(path, `names more than ${mostSeries} series`);
    const except = many(entry.except).map((one, index) => {
      const inner = [...path, 'except', ...(Array.isArray(entry.except) ? [index] : [])];
      const excepted = this.#market(one, inner);
      if (isAny(excepted)) this.#wrong(inner, 'excludes everything: it needs exchange, base or quote');
      return excepted;
    });
    return {
      ...filter,
      ...this.#range(entry, path),
      ...{ top: entry.top ?? null, except, intervals: this.#unique(entry.interval, [...path, 'interval']) },
      place: this.#yaml.place(path),
    };
  }

  #history(entry: NonNullable<WatchListText['history']>[number], path: Path): HistoryEntry {
    return {
      ...this.#assets(entry, path),
      ...this.#range(entry, path),
      intervals: this.#unique(entry.interval, [...path, 'interval']),
    };
  }

  #assetMarkets(
    entry: NonNullable<NonNullable<WatchListText['lists']>['asset-markets']>[number],
    path: Path,
  ): AssetMarketsEntry {
    return { ...this.#assets(entry, path), everyMs: cadenceMs(entry.every) ?? 0 };
  }

  #market(
    entry: {
      exchange?: string | string[] | undefined;
      base?: string | string[] | undefined;
      quote?: string | string[] | undefined;
    },
    path: Path,
  ): MarketFilter {
    const names = (key: 'exchange' | 'base' | 'quote') =>
      entry[key] === undefined ? null : this.#unique(entry[key], [...path, key]);
    return { exchange: names('exchange'), base: names('base'), quote: names('quote') };
  }

  #assets(
    entry: {
      asset?: string | string[] | undefined;
      top?: number | undefined;
      except?: string | string[] | undefined;
    },
    path: Path,
  ): AssetFilter {
    if (entry.asset === undefined && entry.top === undefined)
      this.#wrong(path, 'names no asset: it needs asset or top');
    const names = (key: 'asset' | 'except') =>
      entry[key] === undefined ? null : this.#unique(entry[key], [...path, key]);
    return {
      asset: names('asset'),
      except: names('except'),
      top: entry.top ?? null,
      place: this.#yaml.place(path),
    };
  }

  #range(
    entry: { from: string; to?: string | undefined },
    path: Path,
  ): { start: Start; endMs: EpochMs | null } {
    const atMs = isAge(entry.from) ? ageBefore(entry.from, this.#nowMs) : (isoMoment(entry.from) ?? 0);
    const endMs = entry.to === undefined ? null : isoMoment(entry.to);
    const at = [...path, 'from'];
    if (atMs <= 0) this.#wrong(at, `from ${entry.from} lies before 1970`);
    else if (endMs !== null && atMs >= endMs)
      this.#wrong(at, `from ${entry.from} is not before to ${entry.to}`);
    else if (endMs === null && atMs > this.#nowMs) this.#wrong(at, `from ${entry.from} lies in the future`);
    const start: Start = isAge(entry.from) ? { kind: 'age', age: entry.from } : { kind: 'time', atMs };
    return { start, endMs };
  }

  #reread(said: NonNullable<WatchListText['read-again']>): RereadSaid {
    const hours = said.every === undefined ? undefined : (cadenceMs(said.every) ?? 0) / hourMs;
    if (hours !== undefined && (!Number.isInteger(hours) || hours < 1 || hours > 8760)) {
      this.#wrong(['read-again', 'every'], `every must be whole hours, from 1h to 365d, not ${said.every}`);
    }
    return {
      ...(said.periods === undefined ? {} : { periods: said.periods }),
      ...(said.days === undefined ? {} : { days: said.days }),
      ...(hours === undefined ? {} : { hours }),
    };
  }

  #retention(said: NonNullable<WatchListText['retention']>): Map<StoredDataset, string | null> {
    const kept = new Map<StoredDataset, string | null>();
    for (const [key, dataset] of [
      ['candles', 'candles'],
      ['history', 'asset_history'],
      ['rates', 'rates'],
    ] as const) {
      const age = said[key];
      if (age === undefined) continue;
      const cutMs = age === 'off' ? null : ageBefore(age, this.#nowMs);
      if (cutMs !== null && (cutMs <= 0 || cutMs > this.#nowMs - dayMs)) {
        this.#wrong(
          ['retention', key],
          `${key} ${age} is no age of at least a day and of no more years than since 1970`,
        );
      }
      kept.set(dataset, age === 'off' ? null : age);
    }
    return kept;
  }

  /** As a list; what is there twice is a slip of the pen that hides what was meant. */
  #unique<Value extends string>(value: Value | readonly Value[], path: Path): Value[] {
    const values = many(value);
    for (const [index, one] of values.entries()) {
      if (values.indexOf(one) !== index)
        this.#wrong([...path, index], `${JSON.stringify(one)} is there twice`);
    }
    return values;
  }

  /** Two entries of the same series with two ranges: only one can be what was meant. */
  #refuseRepeated(
    key: 'candles' | 'history',
    entries: ReadonlyArray<{ readonly place: Place; readonly start: Start; readonly endMs: EpochMs | null }>,
  ): void {
    const first = new Map<string, Place>();
    for (const [index, { place, start: _start, endMs: _endMs, ...selection }] of entries.entries()) {
      const same = first.get(JSON.stringify(selection));
      if (same === undefined) first.set(JSON.stringify(selection), place);
      else this.#wrong([key, index], `names the same series as the entry in line ${same.line}`);
    }
  }

  #wrong(path: Path, message: string): void {
    this.problems.push({ ...this.#yaml.place(path), message });
  }
}

function isAny({ exchange, base, quote }: MarketFilter): boolean {
  return exchange === null && base === null && quote === null;
}

function many<Value>(value: Value | readonly Value[] | undefined): Value[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? [...(value as readonly Value[])] : [value as Value];
}
