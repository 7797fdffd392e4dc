/** The configuration, read from the environment: typed, validated at start, frozen. environment.ts has each variable. */

import type { z } from 'zod';
import { dayMs, hourMs } from './contract/intervals.ts';
import { requestsPerMinute } from './contract/limits.ts';
import type { StoredDataset } from './contract/series.ts';
import { environment } from './environment.ts';
import { TidemarkError } from './errors.ts';
import type { RereadSettings } from './planning/reread.ts';
import type { RangeLimits } from './planning/windows.ts';

export type LogLevel = NonNullable<z.output<typeof environment>['LOG_LEVEL']>;

export interface StorageSettings {
  /** Length of a chunk of each dataset. */
  readonly chunkDays: Readonly<Record<StoredDataset, number>>;
  /** Age at which a chunk moves to the columnstore; 0: none does. */
  readonly columnstoreAfterDays: number;
  /** Length up to which chunks that follow one another become one in the columnstore; 0: they stay apart. */
  readonly columnstoreChunkDays: number;
}

export interface Config {
  readonly source: {
    /** Base address that ends in `/v2`, without a trailing slash. Absent when only the store is used. */
    readonly url: string | undefined;
    readonly apiKey: string | undefined;
    /** 0: the source has no limit. */
    readonly requestsPerMinute: number;
    /** Whether it follows from SOURCE_REQUESTS_PER_MINUTE or SOURCE_API_KEY; if not, workers may know better. */
    readonly isBudgetStated: boolean;
    readonly timeoutMs: number;
    /** Largest decoded answer. */
    readonly maxBodyBytes: number;
    /** Longest ranges of one request, where they differ from the interface's. */
    readonly rangeLimits: RangeLimits;
  };
  readonly database: {
    /** Absent: the embedded PostgreSQL in `directory`. */
    readonly url: string | undefined;
    readonly connections: number;
    readonly statementTimeoutMs: number;
    readonly ledgerDays: number;
  };
  /** How TimescaleDB keeps the points; `migrate` applies it. Measured in docs/storage.md. */
  readonly storage: StorageSettings;
  readonly queue: {
    /** Absent: BullMQ's PostgreSQL backend in the same database. */
    readonly redisUrl: string | undefined;
    /** Prefix of the Redis keys, and of the PostgreSQL schema. */
    readonly namespace: string;
  };
  readonly worker: {
    readonly concurrency: number;
    /** Attempts of a window before it is put aside. */
    readonly attempts: number;
    /** How long a window that ran out of attempts waits. */
    readonly failedRetryMs: number;
    /** Time between the two empty answers that confirm a window as empty. */
    readonly emptyConfirmMs: number;
    /** How long after its end a period may still change at the source. */
    readonly graceMs: number;
  };
  readonly scheduler: {
    readonly tickMs: number;
    /** Least time between two readings of a series' open candle. */
    readonly refreshMs: number;
    /** 0: rates are not polled. */
    readonly ratesMs: number;
    /** Part of the budget that refreshes leave to backfill. */
    readonly backfillShare: number;
  };
  /** What is read again of what is covered, to see what the source changed. */
  readonly reread: RereadSettings;
  readonly service: {
    readonly host: string;
    /** 0: any free one. */
    readonly port: number;
    /** Proxies in front, each of which adds an address to `X-Forwarded-For`. */
    readonly trustedProxies: number;
    /** Connections, or behind proxies requests under way, that one address may hold; 0: any number. */
    readonly connectionsPerAddress: number;
    /** Pages of the dashboard that one address may hold open; 0: any number. */
    readonly streamsPerAddress: number;
    /** Requests of a caller in a rolling minute; 0: without limit. */
    readonly perMinute: { readonly withoutKey: number; readonly withKey: number };
    /** To the database, of each process. */
    readonly connections: number;
    readonly statementTimeoutMs: number;
    /** How old an answer may be that is given again; 0: none is. */
    readonly rememberMs: number;
    /** How long it goes on answering after it has been asked to stop, while `/readyz` says that it stops. */
    readonly drainMs: number;
    /** Undefined: where the service listens for this machine only. */
    readonly dashboard: 'on' | 'off' | 'container' | undefined;
    /** Undefined: the dashboard answers this machine only. */
    readonly dashboardPassword: string | undefined;
  };
  /** Where the queues are shown. */
  readonly board: {
    readonly host: string;
    /** 0: any free one. */
    readonly port: number;
    /** Absent: they are not. */
    readonly password: string | undefined;
  };
  readonly tracing: {
    /** Where traces go, by OpenTelemetry's own variables; absent: there are none. */
    readonly endpoint: string | undefined;
  };
  readonly metrics: {
    readonly host: string;
    /** 0: any free one. Absent: there are none. */
    readonly port: number | undefined;
  };
  /** File that says what is tracked, which the scheduler applies while it is there; absent: none is looked for. */
  readonly watchList: string | undefined;
  /** Directory of the embedded database. */
  readonly directory: string;
  /** Absent: `info` for services, `error` for commands that show their progress. */
  readonly logLevel: LogLevel | undefined;
}

/**
 * Reads the configuration. An empty variable counts as absent, as docker compose passes unset ones.
 *
 * @throws TidemarkError BAD_CONFIGURATION with the first offending name, its value (not of a secret), and the rule.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = environment.safeParse(given);
  if (!result.success) {
    const issue = result.error.issues[0];
    const name = String(issue?.path[0]);
    throw new TidemarkError(
      'BAD_CONFIGURATION',
      `${name} ${issue?.message}, but is ${shown(name, given[name])}`,
    );
  }
  const value = result.data;
  return deepFreeze({
    source: {
      url: value.SOURCE_URL?.replace(/\/$/, ''),
      apiKey: value.SOURCE_API_KEY,
      requestsPerMinute:
        value.SOURCE_REQUESTS_PER_MINUTE ??
        (value.SOURCE_API_KEY === undefined ? requestsPerMinute.withoutKey : requestsPerMinute.withKey),
      isBudgetStated: value.SOURCE_REQUESTS_PER_MINUTE !== undefined || value.SOURCE_API_KEY !== undefined,
      timeoutMs: value.SOURCE_TIMEOUT_SECONDS * 1000,
      maxBodyBytes: value.SOURCE_MAX_BODY_MB * 1024 * 1024,
      rangeLimits: { candles: value.SOURCE_CANDLE_DAYS, asset_history: value.SOURCE_HISTORY_DAYS },
    },
    database: {
      url: value.DATABASE_URL,
      connections: value.DATABASE_CONNECTIONS,
      statementTimeoutMs: value.DATABASE_STATEMENT_TIMEOUT_SECONDS * 1000,
      ledgerDays: value.LEDGER_DAYS,
    },
    storage: {
      chunkDays: {
        candles: value.CANDLE_CHUNK_DAYS,
        asset_history: value.HISTORY_CHUNK_DAYS,
        rates: value.RATE_CHUNK_DAYS,
      },
      columnstoreAfterDays: value.COLUMNSTORE_AFTER_DAYS,
      columnstoreChunkDays: value.COLUMNSTORE_CHUNK_DAYS,
    },
    queue: { redisUrl: value.REDIS_URL, namespace: value.QUEUE_NAMESPACE },
    worker: {
      concurrency: value.WORKER_CONCURRENCY,
      attempts: value.WORKER_ATTEMPTS,
      failedRetryMs: value.FAILED_RETRY_SECONDS * 1000,
      emptyConfirmMs: value.EMPTY_CONFIRM_SECONDS * 1000,
      graceMs: value.GRACE_SECONDS * 1000,
    },
    scheduler: {
      tickMs: value.PLANNING_TICK_MS,
      refreshMs: value.REFRESH_SECONDS * 1000,
      ratesMs: value.RATES_SECONDS * 1000,
      backfillShare: value.BACKFILL_SHARE,
    },
    reread: {
      periods: value.REREAD_PERIODS,
      rangeMs: value.REREAD_DAYS * dayMs,
      everyMs: value.REREAD_HOURS * hourMs,
    },
    service: {
      host: value.SERVE_HOST,
      port: value.SERVE_PORT,
      trustedProxies: value.TRUSTED_PROXIES,
      connectionsPerAddress: value.SERVE_CONNECTIONS_PER_ADDRESS,
      streamsPerAddress: value.DASHBOARD_STREAMS_PER_ADDRESS,
      perMinute: { withoutKey: value.SERVE_PER_MINUTE, withKey: value.SERVE_PER_MINUTE_WITH_KEY },
      connections: value.SERVE_CONNECTIONS,
      statementTimeoutMs: value.SERVE_STATEMENT_TIMEOUT_SECONDS * 1000,
      rememberMs: value.SERVE_REMEMBER_MS,
      drainMs: value.SERVE_DRAIN_SECONDS * 1000,
      dashboard: value.DASHBOARD,
      dashboardPassword: value.DASHBOARD_PASSWORD,
    },
    board: { host: value.BOARD_HOST, port: value.BOARD_PORT, password: value.BOARD_PASSWORD },
    tracing: { endpoint: value.OTEL_EXPORTER_OTLP_ENDPOINT },
    metrics: { host: value.METRICS_HOST, port: value.METRICS_PORT },
    watchList: value.WATCH_LIST,
    directory: value.TIDEMARK_DIR,
    logLevel: value.LOG_LEVEL,
  });
}

/** The value for an error message. What holds a password is shown only where that can be told apart, and never else. */
function shown(name: string, value: string | undefined): string {
  if (['SOURCE_API_KEY', 'BOARD_PASSWORD', 'DASHBOARD_PASSWORD'].includes(name)) return '(hidden)';
  const mayHoldPassword = name.endsWith('_URL') && /[@=]/.test(value ?? '');
  return mayHoldPassword ? '(hidden: it may hold a password)' : JSON.stringify(value?.slice(0, 200));
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const inner of Object.values(value))
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
