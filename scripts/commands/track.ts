/** Arguments and options of `tidemark track` and `untrack`. */

import type { Command } from 'commander';
import type { PolledList } from '../../model/lists.ts';
import type { TrackOptions } from '../actions/track.ts';
import { addSelections, nameOf } from '../input/selectors.ts';

export function trackCommand(program: Command): void {
  const track = program.command('track').helpCommand(false);
  addSelections(track, { json: 'print the tracked series as JSON, a line each' }, async (selection, options) =>
    (await import('../actions/track.ts')).trackAll(selection, options),
  );
  addTrackedLists(track);
}

export function untrackCommand(program: Command): void {
  const untrack = program
    .command('untrack')
    .argument('<series...>', 'ids or names of series, as `status` shows them')
    .helpCommand(false)
    .action(async (words: string[]) => (await import('../actions/track.ts')).untrackAll(words));
  addUntrackedLists(untrack);
}

const wholeLists = [
  ['assets', 'every asset: rank, supply, market capitalisation, volume, price'],
  ['exchanges', 'every exchange: rank, volume, pairs'],
  ['markets', 'every market: prices and volume'],
  ['rates', 'every rate, all of each poll'],
] as const;

function addTrackedLists(track: Command): void {
  const add = (name: string, description: string) =>
    track
      .command(name)
      .description(description)
      .option('--every <length>', 'time between two polls: 30s, 5m, 1h, 1d (default: 5m)')
      .option('--json', 'print the tracked list as JSON');
  for (const [dataset, description] of wholeLists) {
    add(dataset, description).action(async (options: TrackOptions) =>
      (await import('../actions/track.ts')).trackOne({ dataset, asset: null }, options),
    );
  }
  add('asset-markets', 'the markets on which an asset trades, as the source lists them for it')
    .requiredOption('--asset <id>', 'asset, such as bitcoin')
    .action(async (options: TrackOptions & { asset: string }) => {
      const list = marketsOf(options.asset);
      await (await import('../actions/track.ts')).trackOne(list, options);
    });
  track
    .command('lists')
    .description('assets and exchanges every 5 min, markets every hour; known lists stay as they are')
    .action(async () => (await import('../actions/track.ts')).trackDefaults());
}

function addUntrackedLists(untrack: Command): void {
  for (const [dataset] of wholeLists) {
    untrack
      .command(dataset)
      .description(`stop polling ${dataset}`)
      .action(async () => (await import('../actions/track.ts')).untrackOne({ dataset, asset: null }));
  }
  untrack
    .command('asset-markets')
    .description('stop polling the markets of an asset')
    .requiredOption('--asset <id>', 'asset, such as bitcoin')
    .action(async (options: { asset: string }) => {
      const list = marketsOf(options.asset);
      await (await import('../actions/track.ts')).untrackOne(list);
    });
}

function marketsOf(asset: string): PolledList {
  return { dataset: 'asset_markets', asset: nameOf(asset, '--asset') };
}
