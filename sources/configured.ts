/** The sources beside the default one: every profile with a public address, and the entries of the watch list. */

import { readFileSync } from 'node:fs';
import { TidemarkError } from '../errors.ts';
import type { Limit, SourceFacts } from '../model/sources.ts';
import { longLimitOf, requestsPerMinuteOf } from '../planning/budget.ts';
import type { Profile } from './profiles/profile.ts';

export interface ConfiguredSource extends SourceFacts {
  readonly name: string;
  readonly profile: Profile;
  /** Base address, without a trailing slash. */
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly limits: readonly Limit[];
  /** Why it cannot be asked, such as a key that is not set; null: it can. All other sources can. */
  readonly problem: string | null;
}

/** The name of the default source in the watch list, which states its ranges. */
const defaultSourceEntry = 'default';

export type ConfiguredSources = ReadonlyMap<string, ConfiguredSource>;

/** An entry of `sources` in the watch list. */
export interface SourceEntry {
  readonly profile?: string | undefined;
  readonly url?: string | undefined;
  readonly 'key-variable'?: string | undefined;
  readonly 'key-file'?: string | undefined;
  readonly budget?: number | undefined;
  readonly archive?: string | undefined;
  readonly credits?: number | undefined;
  /** Of the default source only. */
  readonly ranges?: object | undefined;
}

/**
 * @param entries of the file, by name.
 * @throws TidemarkError BAD_WATCH_LIST for an entry that is not usable.
 */
export function configureSources(
  profiles: Readonly<Record<string, Profile>>,
  entries: Readonly<Record<string, SourceEntry>>,
  file: string | undefined,
): ConfiguredSources {
  const sources = new Map<string, ConfiguredSource>();
  for (const profile of Object.values(profiles))
    if (profile.url !== null) sources.set(profile.name, configured(profile.name, profile, profile.url));
  const failureOf = (name: string, problem: string) =>
    new TidemarkError('BAD_WATCH_LIST', `${file}: the source ${JSON.stringify(name)} ${problem}`);
  for (const [name, entry] of Object.entries(entries)) {
    const fail = (problem: string) => failureOf(name, problem);
    if (name === defaultSourceEntry) {
      if (Object.keys(entry).some((key) => key !== 'ranges'))
        throw fail('is SOURCE_URL: it has nothing but ranges here, and its key and budget are variables');
      continue;
    }
    const profile = profiles[entry.profile ?? name];
    if (profile === undefined) throw fail(`needs a profile: one of ${Object.keys(profiles).join(', ')}`);
    const url = entry.url?.replace(/\/$/, '') ?? profile.url;
    if (url === null) throw fail(`needs a url: the profile ${profile.name} has no public address`);
    const unused = unusedOption(entry, profile);
    if (unused !== null) throw fail(unused);
    const { 'key-variable': variable, 'key-file': keyFile, budget = null } = entry;
    const apiKey = variable === undefined ? textOf(keyFile) : process.env[variable];
    const { archive, credits } = entry;
    const problem = apiKey === undefined ? withoutKey(variable, keyFile) : null;
    sources.set(name, configured(name, profile, url, { apiKey, budget, archive, credits, problem }));
  }
  for (const [name, { archive }] of Object.entries(entries)) {
    const problem = archive === undefined ? null : archiveProblem(name, archive, sources);
    if (problem !== null) throw failureOf(name, problem);
  }
  return sources;
}

/** What is wrong with an entry with an option that would have no effect; null: nothing. */
function unusedOption(entry: SourceEntry, { name, limits, keyHeaders }: Profile): string | null {
  const keys = (['key-variable', 'key-file'] as const).filter((key) => entry[key] !== undefined);
  if (keys.length > 1) return `has ${keys.join(' and ')}: leave one out`;
  if (keys.length > 0 && Object.keys(keyHeaders('key')).length === 0)
    return `has a key, but ${name} uses none: leave ${keys.join()} out`;
  if (entry.ranges !== undefined) return 'has ranges: only the source default has, the others follow their profiles';
  if (entry.credits !== undefined && !limits(false).some(({ unit }) => unit === 'credit'))
    return `has credits, but ${name} has none: budget limits what is used each minute`;
  return null;
}

/** What is wrong with the archive of a source; null: nothing. */
function archiveProblem(name: string, archive: string, sources: ConfiguredSources): string | null {
  const profile = sources.get(name)?.profile.name;
  const known = [...sources.values()].filter((one) => one.profile.marketsOf === profile);
  if (known.some((one) => one.name === archive)) return null;
  return known.length === 0
    ? `has an archive, but no source has files of ${profile}: leave it out`
    : `has an archive, ${archive}, without its files: use one of ${known.map((one) => one.name).join(', ')}`;
}

/** Whether it is an address of the exchange itself, which its archive belongs to. */
function isOwnAddress({ url: first, otherUrls = [] }: Profile, url: string): boolean {
  return url === first || otherUrls.includes(url);
}

function configured(
  name: string,
  profile: Profile,
  url: string,
  {
    apiKey,
    budget = null,
    archive = isOwnAddress(profile, url) ? (profile.archive ?? null) : null,
    credits,
    problem = null,
  }: {
    readonly apiKey?: string | undefined;
    readonly budget?: number | null;
    readonly archive?: string | null | undefined;
    readonly credits?: number | undefined;
    readonly problem?: string | null;
  } = {},
): ConfiguredSource {
  const { candles, assetHistory } = profile.resources;
  const cost = (candles ?? assetHistory)?.cost ?? 1;
  const limits = profile
    .limits(apiKey !== undefined)
    .map((limit) => (limit.unit === 'credit' ? { ...limit, amount: credits ?? limit.amount } : limit));
  return {
    name,
    profile,
    url,
    apiKey,
    limits,
    problem,
    longLimit: longLimitOf(limits),
    requestsPerMinute: requestsPerMinuteOf(limits, cost, budget),
    exchange: profile.exchange,
    rangeLimits: profile.longestRangeMs,
    depthPeriods: profile.depthPeriods,
    files: profile.files,
    archive,
  };
}

/** A process that does not ask the source, such as the scheduler, needs no key. */
function withoutKey(variable: string | undefined, keyFile: string | undefined): string | null {
  if (variable !== undefined) return `no key: ${variable} is not set`;
  return keyFile === undefined ? null : `no key: ${keyFile} cannot be read`;
}

/** @throws TidemarkError BAD_CONFIGURATION when the source cannot be asked. */
export function assertUsable({ name, problem }: Pick<ConfiguredSource, 'name' | 'problem'>): void {
  if (problem === null) return;
  throw new TidemarkError('BAD_CONFIGURATION', `the source ${name} has ${problem}`, {
    remedy: 'set it, or correct `sources` of the watch list',
  });
}

function textOf(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    // The caller reports it, with the name of the source.
    return undefined;
  }
}
