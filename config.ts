/** Environment to configuration: typed, validated whole at start, frozen. `.env.example` lists every variable. */

import { z } from 'zod';
import {
  candleIntervals,
  dayMs,
  historyIntervals,
  hourMs,
  type Interval,
  intervalMs,
} from './contract/intervals.ts';
import { requestsPerMinute } from './contract/limits.ts';
import type { StoredDataset } from './contract/series.ts';
import { TidemarkError } from './errors.ts';
import type { RereadSettings } from './planning/reread.ts';
import type { RangeLimits } from './planning/windows.ts';

const url = (protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    error: `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });
const whole = (least: number, most: number) =>
  z
    .string()
    .refine((value) => /^\d{1,12}$/.test(value) && Number(value) >= least && Number(value) <= most, {
      error: `must be a whole number from ${least} to ${most}`,
    })
    .transform(Number);
const share = z
  .string()
  .refine((value) => /^0?\.\d+$|^0$/.test(value) && Number(value) < 1, {
    error: 'must be a share such as 0.2',
  })
  .transform(Number);

/** Of one window: changing all of its points in the columnstore stays within what TimescaleDB decompresses at once. */
const mostPeriods = 20_000;

/** `m1=0.5,h8=100`: longest range of one request in days, by interval. */
const daysByInterval = <Name extends Interval>(known: readonly Name[]) =>
  z
    .string()
    .prefault('')
    .transform((list, context): Partial<Record<Name, number>> => {
      const ranges: Partial<Record<Name, number>> = {};
      for (const entry of list.split(',').filter((part) => part.trim() !== '')) {
        const [name = '', days = ''] = entry.split('=').map((part) => part.trim());
        const interval = known.find((one) => one === name);
        const rangeMs = /^\d{1,5}(\.\d{1,6})?$/.test(days) ? Number(days) * dayMs : 0;
        const periods = interval === undefined ? 0 : rangeMs / intervalMs[interval];
        if (interval === undefined || periods < 1 || periods > mostPeriods) {
          const message = `must be a list such as ${known[0]}=1, with days of 1 to ${mostPeriods} periods`;
          context.addIssue({ code: 'custom', message });
          return z.NEVER;
        }
        ranges[interval] = Math.floor(rangeMs / intervalMs[interval]) * intervalMs[interval];
      }
      return ranges;
    });

const environment = z.object({
  SOURCE_URL: url(['http:', 'https:'])
    .refine(
      (value) => !URL.canParse(value) || (new URL(value).username === '' && new URL(value).search === ''),
      {
        error: 'must not hold a name, a password or a query: a key belongs in SOURCE_API_KEY',
      },
    )
    .refine((value) => !URL.canParse(value) || /\/v2\/?$/.test(new URL(value).pathname), {
      error: 'must end in /v2',
    })
    .optional(),
  SOURCE_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .optional(),
  SOURCE_REQUESTS_PER_MINUTE: whole(0, 60_000).optional(),
  SOURCE_TIMEOUT_SECONDS: whole(1, 600).prefault('30'),
  SOURCE_CANDLE_DAYS: daysByInterval(candleIntervals),
  SOURCE_HISTORY_DAYS: daysByInterval(historyIntervals),
  SOURCE_MAX_BODY_MB: whole(1, 1024).prefault('32'),
  DATABASE_URL: url(['postgres:', 'postgresql:']).optional(),
  DATABASE_CONNECTIONS: whole(2, 100).prefault('10'),
  DATABASE_STATEMENT_TIMEOUT_SECONDS: whole(1, 3600).prefault('60'),
  REDIS_URL: url(['redis:', 'rediss:'])
    .refine((value) => !URL.canParse(value) || /^\/?\d{0,5}$/.test(new URL(value).pathname), {
      error: 'must end in the number of a database, or without one',
    })
    .optional(),
  QUEUE_NAMESPACE: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,40}$/, 'must be a short lower-case name')
    .prefault('tidemark'),
  TIDEMARK_DIR: z.string().min(1).prefault('.tidemark'),
  WORKER_CONCURRENCY: whole(1, 256).prefault('32'),
  WORKER_ATTEMPTS: whole(1, 20).prefault('5'),
  FAILED_RETRY_SECONDS: whole(1, 86_400).prefault('600'),
  EMPTY_CONFIRM_SECONDS: whole(0, 604_800).prefault('3600'),
  GRACE_SECONDS: whole(0, 3600).prefault('60'),
  REFRESH_SECONDS: whole(1, 86_400).prefault('900'),
  RATES_SECONDS: whole(0, 86_400).prefault('300'),
  BACKFILL_SHARE: share.prefault('0.2'),
  REREAD_PERIODS: whole(0, 100).prefault('2'),
  REREAD_DAYS: whole(0, 3650).prefault('3'),
  REREAD_HOURS: whole(1, 8760).prefault('24'),
  WATCH_LIST: z.string().min(1).prefault('tidemark.yaml'),
  PLANNING_TICK_MS: whole(50, 60_000).prefault('1000'),
  LEDGER_DAYS: whole(1, 3650).prefault('30'),
  CANDLE_CHUNK_DAYS: whole(1, 3650).prefault('30'),
  HISTORY_CHUNK_DAYS: whole(1, 3650).prefault('90'),
  RATE_CHUNK_DAYS: whole(1, 3650).prefault('30'),
  COLUMNSTORE_AFTER_DAYS: whole(0, 3650).prefault('14'),
  COLUMNSTORE_CHUNK_DAYS: whole(0, 3650).prefault('360'),
  SERVE_HOST: z.string().min(1).prefault('127.0.0.1'),
  SERVE_PORT: whole(0, 65_535).prefault('4000'),
  TRUSTED_PROXIES: whole(0, 10).prefault('0'),
  SERVE_PER_MINUTE: whole(0, 1_000_000).prefault(String(requestsPerMinute.withoutKey)),
  SERVE_PER_MINUTE_WITH_KEY: whole(0, 1_000_000).prefault(String(requestsPerMinute.withKey)),
  SERVE_CONNECTIONS: whole(1, 100).prefault('10'),
  SERVE_STATEMENT_TIMEOUT_SECONDS: whole(1, 600).prefault('10'),
  SERVE_REMEMBER_MS: whole(0, 60_000).prefault('1000'),
  SERVE_DRAIN_SECONDS: whole(0, 60).prefault('0'),
  BOARD_HOST: z.string().min(1).prefault('127.0.0.1'),
  BOARD_PORT: whole(0, 65_535).prefault('4100'),
  BOARD_PASSWORD: z
    .string()
    .regex(/^[\x21-\x7e]{12,200}$/, 'must be 12 or more characters of printable ASCII, without spaces')
    .optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:']).optional(),
  METRICS_HOST: z.string().min(1).prefault('127.0.0.1'),
  METRICS_PORT: whole(0, 65_535).optional(),
  DASHBOARD: z.enum(['on', 'off', 'container'], { error: 'must be on, off or container' }).optional(),
  DASHBOARD_PASSWORD: z
    .string()
    .regex(/^[\x20-\x7e]{12,200}$/, 'must be 12 to 200 characters of printable ASCII')
    .optional(),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be one of trace, debug, info, warn, error, fatal, silent',
    })
    .optional(),
});

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
