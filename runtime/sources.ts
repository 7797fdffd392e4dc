/** The sources of a process beside the default one: the profiles, and the entries of the watch list. */

import type { Config } from '../settings/config.ts';
import { type ConfiguredSources, configureSources } from '../sources/configured.ts';
import { profiles } from '../sources/profiles/profiles.ts';
import { namesSource } from '../watch-list/file.ts';
import { readSourceEntries } from '../watch-list/source-entries.ts';

/** @throws TidemarkError BAD_WATCH_LIST for an entry that is not usable. */
export async function configuredSources({ watchList: file }: Pick<Config, 'watchList'>): Promise<ConfiguredSources> {
  return configureSources(profiles, file === undefined ? {} : await readSourceEntries(file), file);
}

/** Whether the watch list may bring series of other sources than the default one. */
export async function areSourcesWanted({ watchList: file }: Pick<Config, 'watchList'>): Promise<boolean> {
  return file !== undefined && (await namesSource(file));
}
