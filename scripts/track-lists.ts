/**
 * `tidemark track assets|exchanges|markets|rates|asset-markets|lists`, and `untrack` of the same: which lists are
 * polled, and how often.
 */

import type { Command } from 'commander';
import { hourMs, minuteMs } from '../contract/intervals.ts';
import { listName, type PolledList } from '../contract/lists.ts';
import { TidemarkError } from '../errors.ts';
import { cadenceMs } from '../planning/cadence.ts';
import {
  isListKnown,
  type TrackedList,
  trackList,
  untrackList,
  untrackRates,
} from '../store/snapshots/lists.ts';
import { nameOf } from './selectors.ts';
import { openSession, type Session } from './session.ts';
import { duration } from './wording.ts';

const defaultEveryMs = 5 * minuteMs;

interface TrackOptions {
  readonly every?: string;
  readonly json?: true;
}

const wholeLists = [
  ['assets', 'every asset: rank, supply, market capitalisation, volume, price'],
  ['exchanges', 'every exchange: rank, volume, pairs'],
  ['markets', 'every market: prices and volume'],
  ['rates', 'every rate, all of each poll'],
] as const;

/** What `track lists` polls, and how often: of thousands of markets most change from one poll to the next. */
const usualLists: ReadonlyArray<{ list: PolledList; everyMs: number }> = [
  { list: { dataset: 'assets', asset: null }, everyMs: defaultEveryMs },
  { list: { dataset: 'exchanges', asset: null }, everyMs: defaultEveryMs },
  { list: { dataset: 'markets', asset: null }, everyMs: hourMs },
];

export function addTrackedLists(track: Command): void {
  const add = (name: string, description: string) =>
    track
      .command(name)
      .description(description)
      .option('--every <length>', 'time between two polls: 30s, 5m, 1h, 1d (default: 5m)')
      .option('--json', 'print what is tracked as JSON');
  for (const [dataset, description] of wholeLists) {
    add(dataset, description).action((options: TrackOptions) => follow({ dataset, asset: null }, options));
  }
  add('asset-markets', 'the markets on which an asset trades, as the source lists them for it')
    .requiredOption('--asset <id>', 'asset, such as bitcoin')
    .action((options: TrackOptions & { asset: string }) => follow(marketsOf(options.asset), options));
  track
    .command('lists')
    .description(
      'assets and exchanges every 5 min, markets every hour; what is tracked or untracked already stays so',
    )
    .action(followUsual);
}

export function addUntrackedLists(untrack: Command): void {
  for (const [dataset] of wholeLists) {
    untrack
      .command(dataset)
      .description(`poll ${dataset} no more`)
      .action(() => leave({ dataset, asset: null }));
  }
  untrack
    .command('asset-markets')
    .description('poll the markets of an asset no more')
    .requiredOption('--asset <id>', 'asset, such as bitcoin')
    .action((options: { asset: string }) => leave(marketsOf(options.asset)));
}

function marketsOf(asset: string): PolledList {
  return { dataset: 'asset_markets', asset: nameOf(asset, '--asset') };
}

async function follow(list: PolledList, options: TrackOptions): Promise<void> {
  const everyMs = options.every === undefined ? null : cadenceMs(options.every.trim());
  if (options.every !== undefined && everyMs === null) {
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `--every ${JSON.stringify(options.every)} is no length from 10s to 366d, such as 30s, 5m, 1h or 1d`,
    );
  }
  await withSession('track', async ({ database, config }) => {
    const { ratesMs } = config.scheduler;
    const usualMs = list.dataset === 'rates' && ratesMs > 0 ? ratesMs : defaultEveryMs;
    const tracked = await trackList(database, list, everyMs ?? usualMs);
    console.log(options.json ? JSON.stringify(asJson(tracked)) : asText(tracked));
  });
}

async function followUsual(): Promise<void> {
  await withSession('track', async ({ database }) => {
    for (const { list, everyMs } of usualLists) {
      if (await isListKnown(database, list)) console.log(`${listName(list)}: as before`);
      else console.log(asText(await trackList(database, list, everyMs)));
    }
  });
}

async function leave(list: PolledList): Promise<void> {
  await withSession('untrack', async ({ database }) => {
    if (list.dataset === 'rates') await untrackRates(database, Date.now());
    else if (!(await untrackList(database, list, Date.now())))
      throw new TidemarkError('BAD_ARGUMENT', `${listName(list)}: not tracked`);
    console.log(`no longer tracking ${listName(list)}; what is stored stays`);
  });
}

async function withSession(command: string, work: (session: Session) => Promise<void>): Promise<void> {
  const session = await openSession({ command, defaultLogLevel: 'warn' });
  try {
    await work(session);
  } finally {
    await session.close();
  }
}

const changes: Readonly<Record<TrackedList['change'], string>> = Object.freeze({
  created: 'tracking',
  resumed: 'tracking again',
  changed: 'tracking already, now',
  unchanged: 'tracking already',
});

function asText({ list, everyMs, change }: TrackedList): string {
  return `${changes[change]}: ${listName(list)}, every ${duration(everyMs)}`;
}

function asJson({ list, everyMs, change }: TrackedList) {
  return { list: list.dataset, asset: list.asset, everySeconds: everyMs / 1000, change };
}
