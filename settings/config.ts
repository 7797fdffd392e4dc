/**
 * The configuration, read from the environment: typed, validated at start, frozen. settings/environment.ts has each
 * variable.
 */

import { readFileSync } from 'node:fs';
import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { codeOf, messageOf, TidemarkError } from '../errors.ts';
import { dayMs, graceMs } from '../model/intervals.ts';
import type { RangeLimits } from '../model/sources.ts';
import { requestsPerMinute } from '../v2/limits.ts';
import { environment, removedVariables, secretVariables } from './environment.ts';

export type LogLevel = NonNullable<z.output<typeof environment>['LOG_LEVEL']>;

/**
 * The settings in the units of the code. Each has the meaning of its variable in settings/environment.ts; undefined: it
 * is not set. Those without a variable are the same in every installation, and others in tests and in `demo`.
 */
function settingsOf(value: z.output<typeof environment>) {
  const hasKey = value.SOURCE_API_KEY !== undefined;
  return {
    source: {
      /** Ends in `/v2`, without a trailing slash. */
      url: value.SOURCE_URL?.replace(/\/$/, ''),
      apiKey: value.SOURCE_API_KEY,
      requestsPerMinute:
        value.SOURCE_REQUESTS_PER_MINUTE ?? (hasKey ? requestsPerMinute.withKey : requestsPerMinute.withoutKey),
      /** Whether the budget follows from a variable; if not, workers may know better. */
      isBudgetStated: value.SOURCE_REQUESTS_PER_MINUTE !== undefined || hasKey,
      timeoutMs: value.SOURCE_TIMEOUT_SECONDS * 1000,
      maxBodyBytes: value.SOURCE_MAX_BODY_MB * 1024 * 1024,
      /** Where they differ from the limits of the interface: `sources.default.ranges` of the watch list. */
      rangeLimits: {} as RangeLimits,
    },
    database: {
      url: addressOf('DATABASE_URL', value.DATABASE_URL, value.DATABASE_PASSWORD),
      connections: value.DATABASE_CONNECTIONS,
      statementTimeoutMs: value.DATABASE_STATEMENT_TIMEOUT_SECONDS * 1000,
      ledgerDays: value.LEDGER_DAYS,
    },
    /** How TimescaleDB keeps the points; `migrate` applies it. Measured in docs/storage.md. */
    storage: { columnstoreAfterDays: value.COLUMNSTORE_AFTER_DAYS, columnstoreChunkDays: value.COLUMNSTORE_CHUNK_DAYS },
    queue: {
      redisUrl: addressOf('REDIS_URL', value.REDIS_URL, value.REDIS_PASSWORD),
      namespace: value.QUEUE_NAMESPACE,
    },
    worker: {
      concurrency: value.WORKER_CONCURRENCY,
      attempts: value.WORKER_ATTEMPTS,
      failedRetryMs: value.FAILED_RETRY_SECONDS * 1000,
      emptyConfirmMs: value.EMPTY_CONFIRM_SECONDS * 1000,
      graceMs,
    },
    scheduler: {
      /** Time between two planning passes. */
      tickMs: 1000,
      refreshMs: value.REFRESH_SECONDS * 1000,
      /** Whether the lists that are polled by default are. */
      pollsByDefault: true,
      /** Share of the budget that refreshes leave to backfill. */
      backfillShare: 0.2,
    },
    /** Unless `read-again` of the watch list says otherwise. */
    reread: { periods: 2, rangeMs: 3 * dayMs, everyMs: dayMs },
    service: {
      host: value.SERVE_HOST,
      port: value.SERVE_PORT,
      trustedProxies: value.TRUSTED_PROXIES,
      connectionsPerAddress: value.SERVE_CONNECTIONS_PER_ADDRESS,
      /** Dashboard pages that one address may hold open. */
      streamsPerAddress: 8,
      perMinute: { withoutKey: value.SERVE_PER_MINUTE, withKey: value.SERVE_PER_MINUTE_WITH_KEY },
      /** A replica to read from; undefined: the database itself. */
      databaseUrl: addressOf('SERVE_DATABASE_URL', value.SERVE_DATABASE_URL, value.SERVE_DATABASE_PASSWORD),
      /** The database as a role that may carry out actions of the dashboard; undefined: the role of the service. */
      actionsUrl: addressOf('DASHBOARD_DATABASE_URL', value.DASHBOARD_DATABASE_URL, value.DASHBOARD_DATABASE_PASSWORD),
      connections: value.SERVE_CONNECTIONS,
      statementTimeoutMs: value.SERVE_STATEMENT_TIMEOUT_SECONDS * 1000,
      /** How long a response is cached; 0: no cache. */
      rememberMs: 1000,
      drainMs: value.SERVE_DRAIN_SECONDS * 1000,
      dashboard: value.DASHBOARD,
      dashboardPassword: value.DASHBOARD_PASSWORD,
    },
    tracing: { endpoint: value.OTEL_EXPORTER_OTLP_ENDPOINT },
    metrics: { host: value.METRICS_HOST, port: value.METRICS_PORT },
    /** Undefined: no file is looked for, as in `demo`. */
    watchList: value.WATCH_LIST as string | undefined,
    directory: value.TIDEMARK_DIR,
    logLevel: value.LOG_LEVEL,
  };
}

/** @throws TidemarkError BAD_CONFIGURATION for a password without an address, or of an address that has one. */
function addressOf(name: string, address: string | undefined, password: string | undefined): string | undefined {
  if (password === undefined) return address;
  const given = name.replace('_URL', '_PASSWORD');
  if (address === undefined) throw new TidemarkError('BAD_CONFIGURATION', `${given} is set, and ${name} is not`);
  const url = new URL(address);
  if (url.password !== '') throw new TidemarkError('BAD_CONFIGURATION', `${name} has a password, and ${given} is set`);
  url.password = encodeURIComponent(password);
  return url.href;
}

type Frozen<Value> = {
  readonly [Key in keyof Value]: Value[Key] extends object ? Frozen<Value[Key]> : Value[Key];
};

export type Config = Frozen<ReturnType<typeof settingsOf>>;
export type StorageSettings = Config['storage'];

/**
 * Reads the configuration. An empty variable counts as absent, as docker compose passes unset ones, and so does an
 * empty file of a secret.
 *
 * @throws TidemarkError BAD_CONFIGURATION with the first offending name, its value (not of a secret), and the rule.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const inFiles = secretsInFiles(env);
  const set = Object.entries({ ...env, ...inFiles }).filter(([, value]) => value !== undefined && value !== '');
  const given = Object.fromEntries(set);
  const result = environment.safeParse(given);
  if (!result.success) {
    const issue = result.error.issues[0];
    const name = String(issue?.path[0]);
    throw new TidemarkError(
      'BAD_CONFIGURATION',
      `${name} ${issue?.message}, but is ${name in inFiles ? '(hidden)' : shown(name, given[name])}`,
    );
  }
  return deepFreeze(settingsOf(result.data));
}

/** @throws TidemarkError BAD_CONFIGURATION for a file that cannot be read, or where the variable is set too. */
function secretsInFiles(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found = secretVariables.flatMap((name) => {
    const file = env[`${name}_FILE`];
    if (!file) return [];
    if (env[name]) throw new TidemarkError('BAD_CONFIGURATION', `${name} and ${name}_FILE are set: leave one out`);
    try {
      return [[name, readFileSync(file, 'utf8').trim()] as const];
    } catch (error) {
      const cause = codeOf(error) ?? messageOf(error);
      throw new TidemarkError('BAD_CONFIGURATION', `${name}_FILE is ${file}, which cannot be read: ${cause}`);
    }
  });
  return Object.fromEntries(found);
}

/** Shorter names are too common to be typing errors of ours. */
const shortestName = 8;

/** Set variables that differ from one of ours by one or two characters, with that one. */
export function misspelledVariables(
  env: Readonly<Record<string, string | undefined>>,
): { readonly name: string; readonly meant: string }[] {
  const known = [...Object.keys(environment.shape), ...secretVariables.map((name) => `${name}_FILE`)];
  return Object.keys(env).flatMap((name) => {
    if (name.length < shortestName || known.includes(name) || name in removedVariables) return [];
    const meant = closest(name, known);
    return distance(name, meant) <= 2 ? [{ name, meant }] : [];
  });
}

/** Set variables of earlier versions, each with what holds in its place. */
export function removedOnes(
  env: Readonly<Record<string, string | undefined>>,
): { readonly name: string; readonly instead: string }[] {
  return Object.entries(removedVariables).flatMap(([name, instead]) => (env[name] ? [{ name, instead }] : []));
}

/** The value for an error message. What holds a password is shown only where that can be told apart, and never else. */
function shown(name: string, value: string | undefined): string {
  if (name === 'SOURCE_API_KEY' || name.endsWith('_PASSWORD')) return '(hidden)';
  const mayHoldPassword = name.endsWith('_URL') && /[@=]/.test(value ?? '');
  return mayHoldPassword ? '(hidden: it may hold a password)' : JSON.stringify(value?.slice(0, 200));
}

function deepFreeze<Value extends object>(value: Value): Frozen<Value> {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
