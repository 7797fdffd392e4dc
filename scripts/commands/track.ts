import type { Command } from 'commander';
import { formatDuration } from '../../model/format.ts';
import type { List } from '../../model/list.ts';
import { eachList, type ListName, type PolledList } from '../../model/lists/index.ts';
import type { TrackOptions, UntrackOptions } from '../actions/track.ts';
import { addSelections, nameOf } from '../input/selectors.ts';

export function trackCommand(track: Command): void {
  addSelections(track, { json: 'print the tracked series as JSON, a line each' }, async (selection, options) =>
    (await import('../actions/track.ts')).trackAll(selection, options),
  );
  for (const list of eachList) {
    ofList(track, list, list.about)
      .option('--every <length>', 'time between two polls: 30s, 5m, 1h, 1d (default: 5m)')
      .option('--json', 'print the tracked list as JSON')
      .action(async (options: TrackOptions & OfAsset) =>
        (await import('../actions/track.ts')).trackOne(polledList(list, options), options),
      );
  }
  const together = eachList.filter(({ polled }) => polled === 'with all lists');
  const often = together.map(({ word, everyMs }) => `${word} every ${formatDuration(everyMs)}`).join(', ');
  track
    .command('lists')
    .description(`${often}; known lists stay as they are`)
    .option('--if-source', 'only if SOURCE_URL names the service that has them')
    .action(async (options: { ifSource?: true }) =>
      (await import('../actions/track.ts')).trackDefaults(options.ifSource === true),
    );
}

export function untrackCommand(untrack: Command): void {
  untrack
    .argument('<series...>', 'ids or names of series, as `status` shows them, or a pattern such as "kraken *"')
    .option('--delete-data', 'also delete all that is stored of them: points, revisions, ledger, rejected rows')
    .option('--yes', 'delete without asking')
    .option('--json', 'print what was deleted as JSON, a line each')
    .helpCommand(false)
    .action(async (words: string[], options: UntrackOptions) => {
      const { deleteAll, untrackAll } = await import('../actions/track.ts');
      return options.deleteData ? deleteAll(words, options) : untrackAll(words, options);
    });
  for (const list of eachList) {
    const what = list.askedFor === 'asset' ? `the ${list.entries} of an asset` : list.word;
    ofList(untrack, list, `stop polling ${what}`).action(async (options: OfAsset) =>
      (await import('../actions/track.ts')).untrackOne(polledList(list, options)),
    );
  }
}

interface OfAsset {
  readonly asset?: string;
}

function ofList(parent: Command, { word, askedFor }: List, description: string): Command {
  const command = parent.command(word).description(description);
  return askedFor === 'asset' ? command.requiredOption('--asset <id>', 'asset, such as bitcoin') : command;
}

function polledList({ name }: List, { asset }: OfAsset): PolledList {
  return { dataset: name as ListName, asset: asset === undefined ? null : nameOf(asset, '--asset') };
}
