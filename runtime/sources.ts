/** The sources of a process: joins settings, profiles and the entries of the watch list. */

import { defaultSource } from '../model/sources.ts';
import type { Config } from '../settings/config.ts';
import { marketDataService } from '../sources/profiles/market-data-service.ts';
import { profiles } from '../sources/profiles/profiles.ts';
import { createRegistry, type SourceRegistry, usable } from '../sources/registry.ts';
import { namesSource } from '../watch-list/file.ts';
import { readSourceEntries } from '../watch-list/source-entries.ts';

/** @throws TidemarkError BAD_WATCH_LIST for an entry that is not usable. */
export async function readRegistry({
  watchList: file,
  source,
}: Pick<Config, 'watchList' | 'source'>): Promise<SourceRegistry> {
  const entries = file === undefined ? {} : await readSourceEntries(file);
  return createRegistry(profiles, { ...source, profile: marketDataService }, entries, file);
}

/** Whether the watch list may bring series of other sources than the default one. */
export async function areSourcesWanted({ watchList: file }: Pick<Config, 'watchList'>): Promise<boolean> {
  return file !== undefined && (await namesSource(file));
}

/** @throws TidemarkError BAD_CONFIGURATION when SOURCE_URL is not set. */
export async function assertDefaultSource(config: Parameters<typeof readRegistry>[0]): Promise<void> {
  usable((await readRegistry(config)).get(defaultSource));
}
