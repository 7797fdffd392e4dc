/**
 * `tidemark track candles|history|assets|...` and `untrack ID|assets|...`: the series that `run` or workers fetch, and
 * the lists that they poll.
 */

import { badArgument } from '../../errors.ts';
import { formatDuration, formatSpan, formatTime, isoTime } from '../../model/format.ts';
import { minuteMs } from '../../model/intervals.ts';
import { listName, lists, type PolledList, wholeLists } from '../../model/lists/index.ts';
import type { Selection } from '../../model/selection.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { parseInterval } from '../../model/time-text.ts';
import { atSource, noteNearNames, withinRetention } from '../../operations/tracking/selection.ts';
import { trackRecorded } from '../../operations/tracking/track.ts';
import { didYouMean } from '../../planning/near-names.ts';
import { withContext } from '../../runtime/context.ts';
import { isListKnown, listStatus, type TrackedList, trackList, untrackList } from '../../store/lists/lists.ts';
import { type TrackedSeries, untrackSeries } from '../../store/series/series.ts';
import { findSeries } from '../../store/status/series-history.ts';
import { userAtHost } from '../input/asked-by.ts';
import type { SelectingOptions } from '../input/selectors.ts';
import type { JsonDocument } from '../output/documents.ts';
import { noteOnStderr } from '../output/table.ts';

/** Tracks each series from the cut of its retention on, and prints it. */
export async function trackAll(asked: Selection, options: SelectingOptions): Promise<void> {
  await withContext({ command: 'track' }, async (context) => {
    const selection = await withinRetention(context, await atSource(context, asked), noteOnStderr);
    await noteNearNames(context, selection, noteOnStderr);
    for (const tracked of await trackRecorded(context, selection, userAtHost()))
      console.log(options.json ? JSON.stringify(asJson(tracked)) : asText(tracked));
  });
}

const changes: Readonly<Record<TrackedSeries['change'], string>> = Object.freeze({
  created: 'tracking',
  resumed: 'tracking again',
  widened: 'already tracked, range extended:',
  unchanged: 'already tracked, range unchanged:',
});

/** Shows the whole tracked range, which may be longer than the requested one. */
function asText({ seriesId, series, tracked, change }: TrackedSeries): string {
  return `${changes[change]} ${seriesName(series)} ${formatSpan(tracked)} (id ${seriesId})`;
}

function asJson({ seriesId, series, created, tracked, change }: TrackedSeries): JsonDocument<'track'> {
  return {
    seriesId,
    ...seriesJson(series),
    created,
    change,
    tracked: { from: isoTime(tracked.startMs), to: isoTime(tracked.endMs) },
  };
}

/** @param words ids or names of series. */
export async function untrackAll(words: readonly string[]): Promise<void> {
  await withContext({ command: 'untrack', needsDatabase: true }, async ({ clock, database }) => {
    for (const seriesId of await findSeries(database, words)) {
      const { series, untrackedMs } = await untrackSeries(database, seriesId, clock.now());
      console.log(
        untrackedMs === null
          ? `no longer tracking ${seriesName(series)}; stored points stay`
          : `${seriesName(series)} was untracked before, at ${formatTime(untrackedMs)}; stored points stay`,
      );
    }
  });
}

/** As the option says. */
const defaultEveryMs = 5 * minuteMs;

export interface TrackOptions {
  readonly every?: string;
  readonly json?: true;
}

/** @throws TidemarkError BAD_ARGUMENT for a time between polls that is too short, too long or no time. */
export async function trackOne(list: PolledList, options: TrackOptions): Promise<void> {
  const everyMs = options.every === undefined ? null : parseInterval(options.every.trim());
  if (options.every !== undefined && everyMs === null) {
    throw badArgument(
      `--every ${JSON.stringify(options.every)} is not a length from 10s to 366d, such as 30s, 5m, 1h or 1d`,
    );
  }
  await withContext({ command: 'track' }, async ({ database }) => {
    const tracked = await trackList(database, list, everyMs ?? defaultEveryMs);
    console.log(options.json ? JSON.stringify(listJson(tracked)) : listText(tracked));
  });
}

/** Tracks the lists of `track lists` that are unknown yet. @param ifSource only where the default source is set. */
export async function trackDefaults(ifSource: boolean): Promise<void> {
  await withContext({ command: 'track' }, async ({ database, config }) => {
    if (ifSource && config.source.url === undefined) return console.log('no list: SOURCE_URL is not set');
    for (const dataset of wholeLists.filter((name) => lists[name].polled === 'with all lists')) {
      const list = { dataset, asset: null };
      if (await isListKnown(database, list)) console.log(`${listName(list)}: as before`);
      else console.log(listText(await trackList(database, list, lists[dataset].everyMs)));
    }
  });
}

/** @throws TidemarkError BAD_ARGUMENT for a list that is not tracked. */
export async function untrackOne(list: PolledList): Promise<void> {
  await withContext({ command: 'untrack', needsDatabase: true }, async ({ clock, database }) => {
    if (!(await untrackList(database, list, clock.now()))) {
      const names = (await listStatus(database, clock.now())).map((one) => listName(one.list));
      throw badArgument(`${listName(list)}: not tracked${didYouMean(listName(list), names)}`);
    }
    console.log(`no longer tracking ${listName(list)}; stored data stays`);
  });
}

const listChanges: Readonly<Record<TrackedList['change'], string>> = Object.freeze({
  created: 'tracking',
  resumed: 'tracking again',
  changed: 'already tracked, now',
  unchanged: 'already tracked',
});

function listText({ list, everyMs, change }: TrackedList): string {
  return `${listChanges[change]}: ${listName(list)}, every ${formatDuration(everyMs)}`;
}

function listJson({ list, everyMs, change }: TrackedList): JsonDocument<'track-list'> {
  return { list: list.dataset, asset: list.asset, everySeconds: everyMs / 1000, change };
}
