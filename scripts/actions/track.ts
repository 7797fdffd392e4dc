/**
 * `tidemark track candles|history|assets|...` and `untrack ID|assets|...`: the series that `run` or workers fetch, and
 * the lists that they poll.
 */

import { badArgument, TidemarkError } from '../../errors.ts';
import { counted, formatDuration, formatSpan, formatTime, isoTime } from '../../model/format.ts';
import { minuteMs } from '../../model/intervals.ts';
import { listName, lists, type PolledList, wholeLists } from '../../model/lists/index.ts';
import type { Selection } from '../../model/selection.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { sum } from '../../model/sum.ts';
import { parseInterval } from '../../model/time-text.ts';
import {
  assertMayDelete,
  dataText,
  deleteSeries,
  finishDeletion,
  readDeletable,
} from '../../operations/tracking/delete-data.ts';
import { atSource, noteNearNames, noteUnusedDefault, withinRetention } from '../../operations/tracking/selection.ts';
import { trackRecorded } from '../../operations/tracking/track.ts';
import { didYouMean } from '../../planning/near-names.ts';
import { withContext } from '../../runtime/context.ts';
import { isListKnown, listStatus, type TrackedList, trackList, untrackList } from '../../store/lists/lists.ts';
import { type Deletion, type OpenDeletion, openDeletions, type StoredData } from '../../store/series/delete-data.ts';
import { type TrackedSeries, untrackSeries } from '../../store/series/series.ts';
import { findSeries } from '../../store/status/series-history.ts';
import { userAtHost } from '../input/asked-by.ts';
import { askOnTerminal, confirmByWord } from '../input/confirm.ts';
import type { SelectingOptions } from '../input/selectors.ts';
import type { JsonDocument } from '../output/documents.ts';
import { noteOnStderr } from '../output/table.ts';

/** Tracks each series from the cut of its retention on, and prints it. */
export async function trackAll(asked: Selection, options: SelectingOptions): Promise<void> {
  await withContext({ command: 'track' }, async (context) => {
    const selection = await withinRetention(context, await atSource(context, asked), noteOnStderr);
    await noteNearNames(context, selection, noteOnStderr);
    await noteUnusedDefault(context, selection, noteOnStderr);
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

export interface UntrackOptions {
  readonly deleteData?: true;
  readonly yes?: true;
  readonly json?: true;
}

/** @param words ids or names of series. @throws TidemarkError BAD_ARGUMENT for an option of a deletion. */
export async function untrackAll(words: readonly string[], { yes, json }: UntrackOptions): Promise<void> {
  if (yes || json)
    throw badArgument(`${yes ? '--yes' : '--json'} goes with --delete-data, which deletes stored points`);
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

/**
 * Deletes series with their data after a confirmation, and first ends what a deletion before has left.
 *
 * @throws TidemarkError BAD_ARGUMENT, DATABASE_REFUSED, INTERRUPTED.
 */
export async function deleteAll(words: readonly string[], options: UntrackOptions): Promise<void> {
  await withContext({ command: 'untrack', needsDatabase: true, handlesSignals: true }, async (context, signal) => {
    await assertMayDelete(context);
    const say = ({ request }: OpenDeletion, before: string) =>
      console.log(
        options.json
          ? JSON.stringify(deletedJson(request))
          : `${before}deleted ${seriesName(request.series)}: ${dataText(request)}`,
      );
    try {
      const left = await openDeletions.on(context.database.pool, {});
      for (const one of left) {
        await finishDeletion(context, one, signal);
        say(one, 'went on where it was stopped, and ');
      }
      const seriesIds = await findSeries(context.database, words).catch((error: unknown) => {
        const typed = words.join(' ').toLowerCase();
        const isMeant = ({ request }: OpenDeletion) =>
          typed === String(request.id) || typed === seriesName(request.series).toLowerCase();
        if (left.some(isMeant)) return [];
        throw error;
      });
      const data = await readDeletable(context, seriesIds);
      if (data.length === 0) return;
      if (options.yes !== true) {
        context.phase(null);
        await confirmByWord('delete', consequenceOf(data), options.json ? null : askOnTerminal(signal));
      }
      const by = userAtHost();
      for (const one of data) {
        signal.throwIfAborted();
        const deleted = await deleteSeries(context, one, by, signal);
        if (deleted !== null) say(deleted, '');
      }
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error;
      const remedy = 'run the same command again: it deletes the rest';
      throw new TidemarkError('INTERRUPTED', 'stopped before all was deleted', { remedy });
    }
  });
}

function consequenceOf(data: readonly StoredData[]): string {
  const lines = data.map((one) => `${seriesName(one.series)}: ${dataText(one)}`);
  const [only = ''] = lines;
  if (lines.length === 1) return `This deletes, irreversibly, ${only}.`;
  const points = sum(data.map((one) => one.points));
  const shown = lines.slice(0, maxLines).join('; ');
  const more = lines.length > maxLines ? `; and ${lines.length - maxLines} more` : '';
  return `This deletes, irreversibly, ${lines.length} series with ${counted(points, 'point')}: ${shown}${more}.`;
}

/** Series that are named before they are deleted. */
const maxLines = 20;

function deletedJson({ id, series, points, earliest, newest, requests, revisions, rejected }: Deletion) {
  const document: JsonDocument<'untrack'> = {
    seriesId: id,
    ...seriesJson(series),
    deleted: { points, from: isoTime(earliest), to: isoTime(newest), revisions, requests, rejected },
  };
  return document;
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
