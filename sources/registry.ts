/** The sources of a process: the default one, each profile with a public address, and the entries of the watch list. */

import { readFileSync } from 'node:fs';
import { TidemarkError } from '../errors.ts';
import { costOfWindow, defaultSource, fileSource, type RangeLimits, type SourceFacts } from '../model/sources.ts';
import { longLimitOf, requestsPerMinuteOf } from '../planning/budget.ts';
import { version } from '../version.ts';
import type { Profile } from './profiles/profile.ts';
import { openSource, type SourceOptions } from './source.ts';

export interface SourceSetup {
  readonly facts: SourceFacts;
  readonly profile: Profile;
  /** Base address, without a trailing slash; null: it is not set. */
  readonly url: string | null;
  readonly apiKey: string | undefined;
  /** Why it cannot be asked, such as a key that is not set; null: it can. */
  readonly problem: string | null;
}

export type SourceRegistry = ReturnType<typeof registryOf>;

/** What differs among the clients of a process. */
type ClientUse = Pick<SourceOptions, 'clock' | 'connections' | 'onRequest' | 'onReply'>;

/** The settings of the default source, and of all clients. */
export interface SourceSettings
  extends Pick<SourceFacts, 'requestsPerMinute' | 'isBudgetStated'>,
    Pick<SourceOptions, 'timeoutMs' | 'maxBodyBytes'> {
  readonly profile: Profile;
  /** Absent: SOURCE_URL is not set. */
  readonly url?: string | undefined;
  readonly apiKey?: string | undefined;
  /** Where they differ from those of the profile. */
  readonly rangeLimits: RangeLimits;
}

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
export function createRegistry(
  profiles: Readonly<Record<string, Profile>>,
  settings: SourceSettings,
  entries: Readonly<Record<string, SourceEntry>>,
  file: string | undefined,
): SourceRegistry {
  const sources = new Map<string, SourceSetup>([[defaultSource, defaultSetup(settings)]]);
  for (const profile of Object.values(profiles))
    if (profile.url !== null) sources.set(profile.name, setupOf(profile.name, profile, profile.url));
  const failureOf = (name: string, problem: string) =>
    new TidemarkError('BAD_WATCH_LIST', `${file}: the source ${JSON.stringify(name)} ${problem}`);
  for (const [name, entry] of Object.entries(entries)) {
    const fail = (problem: string) => failureOf(name, problem);
    if (name === defaultSource) {
      if (Object.keys(entry).some((key) => key !== 'ranges'))
        throw fail('is SOURCE_URL: it has nothing but ranges here, and its key and budget are variables');
      continue;
    }
    if (name === fileSource) throw fail('stands for imported files: give it another name');
    const profile = profiles[entry.profile ?? name];
    if (profile === undefined) throw fail(`needs a profile: one of ${Object.keys(profiles).join(', ')}`);
    const url = entry.url?.replace(/\/$/, '') ?? profile.url;
    if (url === null) throw fail(`needs a url: the profile ${profile.name} has no public address`);
    const unused = unusedOption(entry, profile);
    if (unused !== null) throw fail(unused);
    const { 'key-variable': variable, 'key-file': keyFile, budget = null } = entry;
    const apiKey = (variable === undefined ? textOf(keyFile) : process.env[variable]) || undefined;
    const { archive, credits } = entry;
    const problem = apiKey === undefined ? withoutKey(variable, keyFile) : null;
    // A process that cannot read the key plans with the budget of the workers, which can.
    const hasKey = variable !== undefined || keyFile !== undefined;
    sources.set(name, setupOf(name, profile, url, { apiKey, hasKey, budget, archive, credits, problem }));
  }
  for (const [name, { archive }] of Object.entries(entries)) {
    const problem = archive === undefined ? null : archiveProblem(name, archive, sources);
    if (problem !== null) throw failureOf(name, problem);
  }
  return registryOf(sources, settings, file);
}

function registryOf(
  sources: ReadonlyMap<string, SourceSetup>,
  { timeoutMs, maxBodyBytes }: SourceSettings,
  file: string | undefined,
) {
  /** @throws TidemarkError BAD_CONFIGURATION for a name that no source has. */
  function get(name: string): SourceSetup {
    const found = sources.get(name);
    if (found !== undefined) return found;
    throw new TidemarkError('BAD_CONFIGURATION', `no source is named ${name}`, {
      remedy: `add it to \`sources\` of ${file}`,
    });
  }
  return Object.freeze({
    get,
    /** Undefined: no source has the name. */
    find: (name: string) => sources.get(name),
    /** Opens a client of a source. @throws TidemarkError BAD_CONFIGURATION when the source cannot be asked. */
    open(name: string, use: ClientUse) {
      const { profile, url: baseUrl, apiKey } = usable(get(name));
      return openSource({
        ...use,
        profile,
        baseUrl,
        apiKey,
        timeoutMs,
        maxBodyBytes,
        userAgent: `tidemark/${version}`,
      });
    },
    /** The default source comes first. */
    all: (): readonly SourceSetup[] => [...sources.values()],
    /** Of all sources, by name. */
    facts: new Map([...sources].map(([name, { facts }]) => [name, facts])),
  });
}

function defaultSetup(settings: SourceSettings): SourceSetup {
  const { profile, url = null, apiKey, rangeLimits, requestsPerMinute, isBudgetStated } = settings;
  const problem = url === null ? 'SOURCE_URL is not set' : null;
  const setup = setupOf(defaultSource, profile, url, { apiKey, archive: null, problem });
  const offers = profile.offers.map((offer) => ({
    ...offer,
    longestRangeMs: { ...offer.longestRangeMs, ...rangeLimits[offer.dataset] },
  }));
  return { ...setup, facts: { ...setup.facts, offers, requestsPerMinute, isBudgetStated } };
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
function archiveProblem(name: string, archive: string, sources: ReadonlyMap<string, SourceSetup>): string | null {
  const profile = sources.get(name)?.profile.name ?? '';
  const known = [...sources.values()].filter((one) => one.profile.marketsOf?.includes(profile));
  if (known.some(({ facts }) => facts.name === archive)) return null;
  return known.length === 0
    ? `has an archive, but no source has files of ${profile}: leave it out`
    : `has an archive, ${archive}, without its files: use one of ${known.map(({ facts }) => facts.name).join(', ')}`;
}

/** Whether it is an address of the exchange itself, which its archive belongs to. */
function isOwnAddress({ url: first, otherUrls = [] }: Profile, url: string | null): boolean {
  return [first, ...otherUrls].includes(url);
}

function setupOf(
  name: string,
  profile: Profile,
  url: string | null,
  {
    apiKey,
    hasKey = apiKey !== undefined,
    budget = null,
    archive = isOwnAddress(profile, url) ? (profile.archive ?? null) : null,
    credits,
    problem = null,
  }: {
    readonly apiKey?: string | undefined;
    readonly hasKey?: boolean;
    readonly budget?: number | null;
    readonly archive?: string | null | undefined;
    readonly credits?: number | undefined;
    readonly problem?: string | null;
  } = {},
): SourceSetup {
  const limits = profile
    .limits(hasKey)
    .map((limit) => (limit.unit === 'credit' ? { ...limit, amount: credits ?? limit.amount } : limit));
  return {
    ...{ profile, url, apiKey, problem },
    facts: {
      ...{ name, archive, limits },
      exchange: profile.exchange,
      kinds: profile.kinds,
      offers: profile.offers,
      files: profile.files,
      requestsPerMinute: requestsPerMinuteOf(limits, costOfWindow(profile.offers), budget),
      isBudgetStated: true,
      longLimit: longLimitOf(limits),
    },
  };
}

/** A process that does not ask the source, such as the scheduler, needs no key. */
function withoutKey(variable: string | undefined, keyFile: string | undefined): string | null {
  if (variable !== undefined) return `no key: ${variable} is not set`;
  return keyFile === undefined ? null : `no key: ${keyFile} is empty or cannot be read`;
}

/** The source with its address. @throws TidemarkError BAD_CONFIGURATION when the source cannot be asked. */
export function usable(source: SourceSetup): SourceSetup & { readonly url: string } {
  const { facts, url, problem } = source;
  if (url !== null && problem === null) return { ...source, url };
  throw facts.name === defaultSource
    ? new TidemarkError('BAD_CONFIGURATION', `${problem}`, {
        remedy: 'set it to the base address of a Market Data Service, ending in /v2; or try `tidemark demo`',
      })
    : new TidemarkError('BAD_CONFIGURATION', `the source ${facts.name} has ${problem}`, {
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
