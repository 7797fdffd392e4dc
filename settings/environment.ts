/**
 * The environment variables that Tidemark reads: rule, default and meaning of each. docs/configuration.md and
 * .env.example are made from this file (`npm run docs`).
 */

import { z } from 'zod';
import { mayHoldCredentials } from '../redaction.ts';
import { requestsPerMinute } from '../v2/limits.ts';

const url = (protocols: string[]) =>
  z
    .string()
    .refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
      error: `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
      abort: true,
    });
const whole = (min: number, max: number) =>
  z
    .string()
    .refine((value) => /^\d{1,12}$/.test(value) && Number(value) >= min && Number(value) <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number);
/** @param usual the default. */
const count = (min: number, max: number, usual: number) => whole(min, max).prefault(String(usual));
/** The password of an address that has none. @param name of its variable. */
const password = (name: string) => z.string().optional().describe(`Password of \`${name}\`, where that has none.`);
/** Every variable, by section. The order is that of the documentation. */
export const sections = {
  Source: {
    SOURCE_URL: url(['http:', 'https:'])
      .refine((value) => !mayHoldCredentials(new URL(value)), {
        error: 'must not hold a name, a password or a query: a key belongs in SOURCE_API_KEY',
      })
      .refine((value) => /\/v2\/?$/.test(new URL(value).pathname), { error: 'must end in /v2' })
      .optional()
      .describe('Base URL of the Market Data Service; ends in `/v2`. `backfill`, `run` and `worker` need it.'),
    SOURCE_API_KEY: z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
      .optional()
      .describe('API key of the service, sent as `Authorization: Bearer`.'),
    SOURCE_REQUESTS_PER_MINUTE: whole(0, 60_000)
      .optional()
      .describe(
        'Request budget, shared by all workers. Default: 200, with a key 500. 0: no limit. Requests are spaced by ' +
          'whole milliseconds, rounded up: of 500 a minute 495 are used, of 5,000 4,958.',
      ),
    SOURCE_TIMEOUT_SECONDS: count(1, 600, 30).describe('Timeout of one request.'),
    SOURCE_MAX_BODY_MB: count(1, 1024, 32).describe('Largest response body, after decompression.'),
  },
  Database: {
    DATABASE_URL: url(['postgres:', 'postgresql:'])
      .optional()
      .describe(
        'PostgreSQL 15 to 18, with TimescaleDB for large histories. Default: an embedded PostgreSQL in `TIDEMARK_DIR`.',
      ),
    DATABASE_PASSWORD: password('DATABASE_URL'),
    DATABASE_CONNECTIONS: count(2, 100, 10).describe('Connections of each process.'),
    DATABASE_STATEMENT_TIMEOUT_SECONDS: count(1, 3600, 60).describe('Timeout of one statement.'),
    LEDGER_DAYS: count(1, 3650, 30).describe(
      'Retention of the request ledger, in days; 31 at least while a source with credits is used.',
    ),
    COLUMNSTORE_AFTER_DAYS: count(0, 3650, 14).describe(
      'Age at which a chunk moves to the columnstore, in days. 0: never. `migrate` applies it.',
    ),
    COLUMNSTORE_CHUNK_DAYS: count(0, 3650, 360).describe(
      'Chunks in the columnstore are merged up to this length, in days. 0: chunks are not merged.',
    ),
    TIDEMARK_DIR: z.string().min(1).prefault('.tidemark').describe('Directory of the embedded database.'),
  },
  Queue: {
    REDIS_URL: url(['redis:', 'rediss:'])
      .refine((value) => /^\/?\d{0,5}$/.test(new URL(value).pathname), {
        error: 'must end in the number of a database, or without one',
      })
      .optional()
      .describe(
        "Redis 6.2 or newer with `maxmemory-policy noeviction`, or any node of a Redis Cluster. Default: BullMQ's " +
          'PostgreSQL backend in the same database.',
      ),
    REDIS_PASSWORD: password('REDIS_URL'),
    QUEUE_NAMESPACE: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,40}$/, 'must be a short lower-case name')
      .prefault('tidemark')
      .describe('Prefix of the Redis keys, or the PostgreSQL schema, of the queue. Separates installations.'),
  },
  Workers: {
    WORKER_CONCURRENCY: count(1, 256, 32).describe(
      "Concurrent requests of one worker. Use more than the budget per second times the source's latency in seconds.",
    ),
    WORKER_ATTEMPTS: count(1, 20, 5).describe('Attempts of a window before it is deferred.'),
    FAILED_RETRY_SECONDS: count(1, 86_400, 600).describe(
      'Longest delay before a deferred window is retried. After errors of the source the delay starts at one ' +
        'minute and grows.',
    ),
    EMPTY_CONFIRM_SECONDS: count(0, 604_800, 3600).describe(
      'Delay before the second request that confirms an empty window, and before an entry that a list lacks ' +
        'counts as gone.',
    ),
  },
  Scheduler: {
    WATCH_LIST: z
      .string()
      .min(1)
      .prefault('tidemark.yaml')
      .describe('File of the watch list. The scheduler applies it whenever it changes.'),
    REFRESH_SECONDS: count(1, 86_400, 900).describe('Interval at which open candles are refreshed.'),
  },
  Service: {
    SERVE_HOST: z.string().min(1).prefault('127.0.0.1').describe('Address on which the service listens.'),
    SERVE_PORT: count(0, 65_535, 4000).describe('Port of the service. 0: any free port.'),
    TRUSTED_PROXIES: count(0, 10, 0).describe(
      'Number of proxies in front of the service whose `X-Forwarded-For` is trusted.',
    ),
    SERVE_CONNECTIONS_PER_ADDRESS: count(0, 100_000, 256).describe(
      'Open connections of one client address; behind trusted proxies, concurrent requests. 0: no limit.',
    ),
    SERVE_DATABASE_URL: url(['postgres:', 'postgresql:'])
      .optional()
      .describe(
        'A streaming replica of the database. The service and the dashboard read from it and report how far it is ' +
          'behind; keys and request counts stay in `DATABASE_URL`. Default: `DATABASE_URL`.',
      ),
    SERVE_DATABASE_PASSWORD: password('SERVE_DATABASE_URL'),
    DASHBOARD_DATABASE_URL: url(['postgres:', 'postgresql:'])
      .optional()
      .describe(
        'The same database as another role, for the actions of the dashboard: `tidemark_worker`, where the role of ' +
          '`DATABASE_URL` may only read. Default: `DATABASE_URL`.',
      ),
    DASHBOARD_DATABASE_PASSWORD: password('DASHBOARD_DATABASE_URL'),
    SERVE_PER_MINUTE: count(0, 1_000_000, requestsPerMinute.withoutKey).describe(
      'Requests of one client address in a rolling minute. 0: no limit.',
    ),
    SERVE_PER_MINUTE_WITH_KEY: count(0, 1_000_000, requestsPerMinute.withKey).describe(
      'Requests of one key in a rolling minute. 0: no limit.',
    ),
    SERVE_CONNECTIONS: count(1, 100, 10).describe("The service's connections to the database."),
    SERVE_STATEMENT_TIMEOUT_SECONDS: count(1, 600, 10).describe('Timeout of one statement of the service.'),
    SERVE_DRAIN_SECONDS: count(0, 60, 0).describe(
      'How long the service still answers after SIGTERM, while `/readyz` reports that it stops.',
    ),
    DASHBOARD: z
      .enum(['on', 'off', 'container'], { error: 'must be on, off or container' })
      .optional()
      .describe(
        'The dashboard at `/`: `on`, `off`, or `container` (`on`, and the default gateway counts as this ' +
          'machine). Default: on if `SERVE_HOST` is a loopback address and no proxy is configured.',
      ),
    DASHBOARD_PASSWORD: z
      .string()
      .regex(/^[\x20-\x7e]{12,200}$/, 'must be 12 to 200 characters of printable ASCII')
      .optional()
      .describe(
        'Password of the dashboard (HTTP basic authentication). Default: none, and the dashboard answers this ' +
          'machine only.',
      ),
  },
  'Metrics, traces and logs': {
    METRICS_HOST: z.string().min(1).prefault('127.0.0.1').describe('Address on which `/metrics` is served.'),
    METRICS_PORT: whole(0, 65_535)
      .optional()
      .describe(
        'Port of `/metrics` of this process, for Prometheus. 0: any free port. Default: no metrics. It has no ' +
          'password: keep it private.',
      ),
    OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:'])
      .optional()
      .describe(
        'OpenTelemetry collector for traces (OTLP over HTTP), such as `http://127.0.0.1:4318`. Default: no ' +
          "traces. OpenTelemetry's own variables set headers, names and sampling.",
      ),
    LOG_LEVEL: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
        error: 'must be one of trace, debug, info, warn, error, fatal, silent',
      })
      .optional()
      .describe(
        'One of `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`. Default: `info` for services, ' +
          '`error` or `warn` for other commands.',
      ),
  },
};

export const environment = z.object({
  ...sections.Source,
  ...sections.Database,
  ...sections.Queue,
  ...sections.Workers,
  ...sections.Scheduler,
  ...sections.Service,
  ...sections['Metrics, traces and logs'],
});

/** Those that hold a secret: `NAME_FILE` names a file that has the value, as a mounted secret. */
export const secretVariables = [
  'SOURCE_API_KEY',
  'DATABASE_URL',
  'DATABASE_PASSWORD',
  'REDIS_URL',
  'REDIS_PASSWORD',
  'SERVE_DATABASE_URL',
  'SERVE_DATABASE_PASSWORD',
  'DASHBOARD_DATABASE_URL',
  'DASHBOARD_DATABASE_PASSWORD',
  'DASHBOARD_PASSWORD',
] as const satisfies ReadonlyArray<keyof typeof environment.shape>;

const noBoard = 'the dashboard shows the queues; docs/operations.md tells how to run Bull Board';
const readAgain = 'the key read-again of the watch list replaces it';
const ranges = 'the key ranges of sources: { default } in the watch list replaces it';
const chunkLength =
  'a store keeps the length that its chunks have; docs/storage.md tells how to set another one in SQL';

/** Variables of earlier versions, each with what holds in its place. */
export const removedVariables: Readonly<Record<string, string>> = {
  BACKFILL_SHARE: 'refreshes leave a fifth of the budget to backfill',
  BOARD_HOST: noBoard,
  BOARD_PASSWORD: noBoard,
  BOARD_PORT: noBoard,
  CANDLE_CHUNK_DAYS: chunkLength,
  DASHBOARD_STREAMS_PER_ADDRESS: 'one address may hold eight pages of the dashboard open',
  GRACE_SECONDS: 'a period counts as closed 60 seconds after its end',
  HISTORY_CHUNK_DAYS: chunkLength,
  PLANNING_TICK_MS: 'the scheduler plans once a second',
  RATE_CHUNK_DAYS: chunkLength,
  RATES_SECONDS: 'the key rates in lists of the watch list replaces it, or track rates and untrack rates',
  REREAD_DAYS: readAgain,
  REREAD_HOURS: readAgain,
  REREAD_PERIODS: readAgain,
  SERVE_REMEMBER_MS: 'the service caches a response for one second',
  SOURCE_CANDLE_DAYS: ranges,
  SOURCE_HISTORY_DAYS: ranges,
};
