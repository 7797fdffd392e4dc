/** Parses the text of a watch list, or reports every problem in it. */

import {
  type AssetDataset,
  assetDatasets,
  datasetNames,
  datasets,
  type MarketDataset,
  marketDatasets,
} from '../model/datasets/index.ts';
import { dayMs, type EpochMs, hourMs, minuteMs } from '../model/intervals.ts';
import { type AssetList, assetLists, type Lists, lists, wholeLists } from '../model/lists/index.ts';
import { type StoredDataset, storedDatasets, storedWords } from '../model/stored-datasets.ts';
import { isAge, parseInterval, parseIsoTime, timeOfAge } from '../model/time-text.ts';
import type { Start } from '../planning/watch-list-changes.ts';
import type { Alias } from '../store/series/aliases.ts';
import type { RereadOverride } from '../store/settings/settings.ts';
import {
  type AssetEntryText,
  type MarketEntryText,
  type NotifyText,
  problemsOf,
  targetKindOf,
  targetNames,
  type WatchListText,
  watchListShape,
} from './shape.ts';
import type {
  AssetEntry,
  AssetFilter,
  AssetListEntry,
  MarketEntry,
  MarketFilter,
  NotifyEntry,
  Problem,
  WatchList,
} from './watch-list.ts';
import { type Located, readYaml } from './yaml.ts';

export type Read =
  | { readonly kind: 'list'; readonly list: WatchList }
  /** In the order of the file, at least one. */
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

/** @param nowMs for ages, and to reject ranges in the future. */
export function readWatchList(text: string, nowMs: EpochMs): Read {
  const yaml = readYaml(text);
  if (yaml.kind === 'problems') return yaml;
  const parsed = watchListShape.safeParse(yaml.value);
  if (!parsed.success) return { kind: 'problems', problems: inOrder(problemsOf(parsed.error, yaml)) };
  const reader = new Reader(yaml, nowMs);
  const list = reader.read(parsed.data);
  return reader.problems.length > 0 ? { kind: 'problems', problems: inOrder(reader.problems) } : { kind: 'list', list };
}

function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
}

/** Limit of one entry: three lists of names multiply. */
const maxSeries = 50_000;

type Path = readonly (string | number)[];

/** Converts a valid shape to a watch list and collects semantic problems. */
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
    if (said.length === 0)
      this.#wrong(
        [],
        `says nothing: it needs ${datasetNames.map((name) => datasets[name].word).join(', ')}, lists or a setting`,
      );
    const list: WatchList = {
      markets: marketDatasets.flatMap((name) => {
        const { word } = datasets[name];
        return (text[word] ?? []).map((entry, index) => this.#markets(name, entry, [word, index]));
      }),
      assets: assetDatasets.flatMap((name) => {
        const { word } = datasets[name];
        return (text[word] ?? []).map((entry, index) => this.#series(name, entry, [word, index]));
      }),
      assetLists: assetLists.flatMap((name) => {
        const { word } = lists[name];
        return (text.lists?.[word] ?? []).map((entry, index) => this.#assetList(name, entry, ['lists', word, index]));
      }),
      lists: new Map(
        wholeLists.flatMap((name) => {
          const every = text.lists?.[lists[name].word];
          return every === undefined ? [] : [[name, every === 'off' ? null : parseInterval(every)] as const];
        }),
      ),
      reread: this.#reread(text['read-again'] ?? {}),
      retention: this.#retention(text.retention ?? {}),
      aliases: text.aliases === undefined ? null : aliasesOf(text.aliases),
      lake: text.lake === undefined ? null : lakeOf(text.lake),
      notify: notifyEntriesOf(text.notify ?? []),
      prune: text.prune ?? false,
    };
    return list;
  }

  #markets(dataset: MarketDataset, entry: MarketEntryText, path: Path): MarketEntry {
    const filter = marketFilter(entry);
    const { source, symbol } = entry;
    if (symbol !== undefined && source === undefined) this.#wrong(path, 'has a symbol without a source');
    if (symbol !== undefined && !isAny(filter))
      this.#wrong(path, 'names markets by symbol: exchange, base and quote name others');
    if (symbol === undefined && entry.top === undefined && isAny(filter))
      this.#wrong(path, 'names no market: it needs exchange, base, quote or top');
    const sizes = [filter.exchange, filter.base, filter.quote, many(entry.interval)];
    if (sizes.reduce((product, names) => product * (names?.length ?? 1), 1) > maxSeries)
      this.#wrong(path, `names more than ${maxSeries} series`);
    return {
      dataset,
      ...filter,
      ...this.#range(entry, path),
      top: entry.top ?? null,
      except: many(entry.except).map(marketFilter),
      sources: many(source),
      symbols: symbol === undefined ? null : many(symbol),
      intervals: many(entry.interval),
      place: this.#yaml.place(path),
    };
  }

  #series(dataset: AssetDataset, entry: AssetEntryText, path: Path): AssetEntry {
    return {
      dataset,
      ...this.#assets(entry, path),
      ...this.#range(entry, path),
      sources: many(entry.source),
      intervals: many(entry.interval),
    };
  }

  #assetList(
    list: AssetList,
    entry: NonNullable<NonNullable<WatchListText['lists']>[Lists[AssetList]['word']]>[number],
    path: Path,
  ): AssetListEntry {
    return { list, ...this.#assets(entry, path), everyMs: parseInterval(entry.every) ?? 0 };
  }

  #assets(
    entry: { asset?: string | string[] | undefined; top?: number | undefined; except?: string | string[] | undefined },
    path: Path,
  ): AssetFilter {
    if (entry.asset === undefined && entry.top === undefined)
      this.#wrong(path, 'names no asset: it needs asset or top');
    return {
      asset: namesOf(entry.asset),
      except: namesOf(entry.except),
      top: entry.top ?? null,
      place: this.#yaml.place(path),
    };
  }

  #range(entry: { from: string; to?: string | undefined }, path: Path): { start: Start; endMs: EpochMs | null } {
    const atMs = isAge(entry.from) ? timeOfAge(entry.from, this.#nowMs) : (parseIsoTime(entry.from) ?? 0);
    const endMs = entry.to === undefined ? null : parseIsoTime(entry.to);
    const at = [...path, 'from'];
    if (atMs <= 0) this.#wrong(at, `from ${entry.from} lies before 1970`);
    else if (endMs !== null && atMs >= endMs) this.#wrong(at, `from ${entry.from} is not before to ${entry.to}`);
    else if (endMs === null && atMs > this.#nowMs) this.#wrong(at, `from ${entry.from} lies in the future`);
    const start: Start = isAge(entry.from) ? { kind: 'age', age: entry.from } : { kind: 'time', atMs };
    return { start, endMs };
  }

  #reread(said: NonNullable<WatchListText['read-again']>): RereadOverride {
    const hours = said.every === undefined ? undefined : (parseInterval(said.every) ?? 0) / hourMs;
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
    for (const dataset of storedDatasets) {
      const key = storedWords[dataset];
      const age = said[key];
      if (age === undefined) continue;
      const cutMs = age === 'off' ? null : timeOfAge(age, this.#nowMs);
      if (cutMs !== null && (cutMs <= 0 || cutMs > this.#nowMs - dayMs)) {
        this.#wrong(['retention', key], `${key} ${age} is not an age between a day and the years since 1970`);
      }
      kept.set(dataset, age === 'off' ? null : age);
    }
    return kept;
  }

  #wrong(path: Path, message: string): void {
    this.problems.push({ ...this.#yaml.place(path), message });
  }
}

function lakeOf({
  directory,
  every,
  decimals,
  doubles,
  iceberg,
}: NonNullable<WatchListText['lake']>): NonNullable<WatchList['lake']> {
  return {
    directory,
    everyMs: parseInterval(every) ?? 0,
    ...(decimals === undefined ? {} : { decimals }),
    ...(doubles === undefined ? {} : { doubles }),
    ...(iceberg === undefined ? {} : { iceberg }),
  };
}

export function aliasesOf(text: NonNullable<WatchListText['aliases']>): Alias[] {
  return Object.entries(text).flatMap(([code, asset]): Alias[] =>
    typeof asset === 'string'
      ? [{ source: '', code, asset }]
      : Object.entries(asset).map(([own, id]) => ({ source: code, code: own, asset: id })),
  );
}

const toldAfterMs = 2 * minuteMs;
const toldEveryMs = 4 * hourMs;

export function notifyEntriesOf(said: readonly NotifyText[]): NotifyEntry[] {
  const names = targetNames(said);
  return said.map((one, index) => {
    const kind = targetKindOf(one);
    const { mail } = one;
    return {
      name: names[index] ?? kind,
      kind,
      address: mail?.smtp ?? (kind === 'mail' ? '' : (one[kind] ?? '')),
      secret: one.secret ?? one.token ?? null,
      mail: mail === undefined ? null : { from: mail.from, to: many(mail.to) },
      template: one.template ?? null,
      link: one.link ?? null,
      level: one.level ?? 'bad',
      afterMs: one.after === undefined ? toldAfterMs : (parseInterval(one.after) ?? 0),
      everyMs: one.every === 'off' ? null : one.every === undefined ? toldEveryMs : parseInterval(one.every),
    };
  });
}

function isAny({ exchange, base, quote }: MarketFilter): boolean {
  return exchange === null && base === null && quote === null;
}

type OneOrMany = string | string[] | undefined;

function marketFilter(entry: { exchange?: OneOrMany; base?: OneOrMany; quote?: OneOrMany }): MarketFilter {
  return { exchange: namesOf(entry.exchange), base: namesOf(entry.base), quote: namesOf(entry.quote) };
}

function namesOf(names: OneOrMany): string[] | null {
  return names === undefined ? null : many(names);
}

/** As a list without repetitions. */
function many<Value>(value: Value | readonly Value[] | undefined): Value[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? [...new Set(value as readonly Value[])] : [value as Value];
}
