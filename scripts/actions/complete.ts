/** `tidemark complete SHELL`: completion of commands, options and series for bash, zsh and fish. */

import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { datasetNames, datasets } from '../../model/datasets/index.ts';
import { intervalMs } from '../../model/intervals.ts';
import { keyNames, keyOf, type SeriesKey, seriesName } from '../../model/series.ts';
import type { KnownSeries } from '../../planning/watch-list-changes.ts';
import { completionScripts } from '../output/completion-scripts.ts';

/** The options that name series, and the value of a series. */
const namingOptions = Object.fromEntries(
  Object.values(keyNames)
    .flat()
    .filter((name) => name !== 'interval')
    .map((name) => [name, (series: SeriesKey) => keyOf(series)[namesOf(series).indexOf(name)]]),
);
const namesOf = (series: SeriesKey): readonly string[] => keyNames[datasets[series.dataset].of];

/** The options whose value is a source. */
const sourceOptions: readonly string[] = ['source', 'against'];

/** Completes the commands that the program has by now. */
export async function addSuggestions(program: Command, words: readonly string[]): Promise<void> {
  const [called = ''] = words;
  const before = words.slice(0, -1);
  const root = tab(program);
  root.commands.get('complete')?.argument('shell', (complete) => {
    for (const shell of Object.keys(completionScripts)) complete(shell, '');
  });
  const series = root.commands.get(called)?.arguments.get('series');
  const named = words.some((word) => optionOf(word) in namingOptions);
  // Loaded on demand: most completions need no database.
  const known =
    series !== undefined || named ? await (await import('../input/known-series.ts')).readSeriesToComplete() : [];
  if (series !== undefined) {
    // The words of one name.
    const several = called !== 'why';
    const accepted = called === 'untrack' || called === 'retry' ? known.filter((one) => one.isTracked) : known;
    const command = program.commands.find((one) => one.name() === called);
    const given = argumentsOf(command, before.slice(1));
    series.handler = (complete) => {
      const typed = words.at(-1) ?? '';
      const suggestions = suggestSeries(accepted, { given, typed, several });
      for (const [word, description] of suggestions) complete(word, description);
    };
  }
  const sources = words.some((word) => sourceOptions.includes(optionOf(word)))
    ? await (await import('../input/known-series.ts')).readSourcesToComplete()
    : [];
  const source = optionValue(before, 'source');
  const markets =
    source !== undefined && words.some((word) => optionOf(word) === 'symbol')
      ? await (await import('../input/known-series.ts')).readMarketsToComplete(source)
      : [];
  for (const [name, { options }] of root.commands) {
    const suggest = (option: string, values: readonly string[]) => {
      const found = options.get(option);
      if (found === undefined) return;
      found.handler = (complete) => {
        for (const value of values) complete(value, '');
      };
    };
    for (const option of sourceOptions) suggest(option, sources);
    suggest('symbol', markets);
    for (const option of Object.keys(namingOptions)) {
      const naming = options.get(option);
      if (naming === undefined) continue;
      naming.handler = (complete) => {
        for (const value of suggestValues(known, before, option)) complete(value, '');
      };
    }
    const interval = options.get('interval');
    if (interval === undefined) continue;
    const dataset = datasetNames.find((one) => name.endsWith(` ${datasets[one].word}`));
    interval.handler = (complete) => {
      for (const one of dataset === undefined ? Object.keys(intervalMs) : datasets[dataset].intervals)
        complete(one, '');
    };
  }
}

/**
 * The next words of series, each with a description: the words of a name one after the other, or ids where the typed
 * word begins with a digit. The library leaves out words that do not begin as the typed one.
 */
function suggestSeries(
  known: readonly KnownSeries[],
  { given, typed, several }: { given: readonly string[]; typed: string; several: boolean },
): Map<string, string> {
  const suggestions = new Map<string, string>();
  for (const { series } of known) {
    const words = seriesName(series).split(' ');
    const isBegun = given.every((word, at) => word.toLowerCase() === words[at]?.toLowerCase());
    const next = words[given.length];
    if (isBegun && next !== undefined) suggestions.set(next, '');
  }
  const areIds = given.every((word) => /^\d+$/.test(word));
  if (/^\d/.test(typed) && areIds && (several || given.length === 0)) {
    for (const { seriesId, series } of known) suggestions.set(String(seriesId), seriesName(series));
  }
  return suggestions;
}

/** Values of an option, of series that have the values of the other options. */
function suggestValues(known: readonly KnownSeries[], before: readonly string[], option: string): Set<string> {
  const others = Object.entries(namingOptions).filter(([name]) => name !== option);
  const values = new Set<string>();
  for (const { series } of known) {
    const value = namingOptions[option]?.(series);
    const fits = others.every(([name, read]) => {
      const own = read(series);
      const given = optionValue(before, name);
      return own === undefined || given === undefined || given === own;
    });
    if (value !== undefined && fits) values.add(value);
  }
  return values;
}

function optionOf(word: string): string {
  return /^--([a-z]+)/.exec(word)?.[1] ?? '';
}

function optionValue(words: readonly string[], option: string): string | undefined {
  const at = words.findIndex((word) => optionOf(word) === option);
  return at === -1 ? undefined : (words[at]?.split('=')[1] ?? words[at + 1]);
}

/** The words that are neither options nor their values. */
function argumentsOf(command: Command | undefined, words: readonly string[]): string[] {
  const takesValue = (word: string | undefined) =>
    command?.options.some((option) => option.required && option.long === word) === true;
  return words.filter((word, at) => !word.startsWith('-') && !takesValue(words[at - 1]));
}
