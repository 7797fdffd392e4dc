/**
 * Actions at the dashboard, as POST requests of JSON.
 *
 * Only the page itself, or a program, may request them. A browser sends the password by itself, also for a form of
 * another site, so the request must be JSON, which a form cannot send, and must not come from another origin. Without a
 * password the token of the process is needed beside the address of this machine.
 *
 *   running  Its row is in `tidemark.actions`. `verify` and `repair` answer at once with 202, and one of them runs at a
 *            time in a process.
 *   ended    Its row has the result: done, or failed with the error's code. The end of the service stops it first.
 */

import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Clock } from '../clock.ts';
import { messageOf, TidemarkError } from '../errors.ts';
import { assetDatasets, datasets, marketDatasets } from '../model/datasets/index.ts';
import { counted, formatCount } from '../model/format.ts';
import { type EpochMs, type Interval, intervalMs } from '../model/intervals.ts';
import { mayBeName, printable } from '../model/names.ts';
import type { Range } from '../model/ranges.ts';
import { chooseMarket, type Selection } from '../model/selection.ts';
import { seriesOfKey } from '../model/series.ts';
import { shapeProblem } from '../model/shape-problem.ts';
import { isAge, parseIsoTime, timeOfAge, wrongInterval } from '../model/time-text.ts';
import { ServiceRefusal } from '../service/response.ts';
import type { Database } from '../store/db/database.ts';
import { explainDatabaseError } from '../store/db/failure.ts';
import { listSeriesNames } from '../store/status/series-history.ts';
import { type Access, isSame, userIn } from './access.ts';
import { json } from './json.ts';
import type { ActionPorts, ActionRequest } from './ports.ts';
import { endAction, newestActions, recordAction } from './queries/actions.ts';
import type { ActionLine } from './shapes.ts';

export interface ActionsOptions {
  readonly ports: ActionPorts;
  /** Records actions. */
  readonly database: Database;
  /** Whether the role of `database` may write. */
  readonly mayWrite: boolean;
  readonly log: Logger;
  /** What a request without a password needs. */
  readonly token: string;
}

export const makeToken = (): string => randomBytes(24).toString('base64url');

/** The request header of the token. */
const tokenHeader = 'x-tidemark-token';

const maxListed = 50;
const maxSeries = 1000;

const nameText = z.string().trim().max(200).refine(mayBeName, 'is not an id');
const seriesWords = z.array(z.union([z.int().min(1).transform(String), z.string().trim().min(1).max(400)]));
const time = z.union([z.int().min(0), z.string().trim().max(40)]);
const emptyList = 'the list is empty';
const ofSeries = z.strictObject({
  // Of a program that has found none: it does not mean all.
  series: seriesWords.min(1, `${emptyList}; leave it out for all tracked series`).max(maxSeries).optional(),
  from: time.nullish(),
  to: time.nullish(),
});
const intervals = z.array(z.enum(Object.keys(intervalMs) as Interval[])).min(1);
const range = { intervals, from: time, to: time.nullish(), source: nameText.nullish() };
const tracking = z.discriminatedUnion('dataset', [
  z.strictObject({
    dataset: z.enum(marketDatasets),
    exchange: nameText.nullish(),
    base: nameText.nullish(),
    quote: nameText.nullish(),
    /** The market as the source names it. */
    symbol: z.string().trim().min(1).max(100).nullish(),
    ...range,
  }),
  z.strictObject({ dataset: z.enum(assetDatasets), asset: nameText, ...range }),
]);

/** A source; absent: all of them. */
const ofSource = z.strictObject({ source: nameText.optional() });
const budget = z.strictObject({ source: nameText, perMinute: z.int().min(1).max(1_000_000).nullable() });
/** What each action takes. */
export const requestsAt = (clock: Pick<Clock, 'now'>) => {
  const actedOn = <Given extends z.output<typeof ofSeries>>({ from, to, ...given }: Given) => ({
    ...given,
    within: from == null && to == null ? undefined : rangeOf(from ?? 0, to, clock.now()),
  });
  return {
    retry: ofSeries.transform((given) => ({ action: 'retry' as const, ...actedOn(given) })),
    repair: ofSeries.transform((given) => ({ action: 'repair' as const, ...actedOn(given) })),
    verify: ofSeries
      .extend({
        sample: z.int().min(1).max(9_999_999).nullable().default(30),
        against: nameText.nullable().default(null),
      })
      .transform((given) => ({ action: 'verify' as const, ...actedOn(given) })),
    track: tracking.transform(
      (given): ActionRequest => ({ action: 'track', selection: selectionOf(given, clock.now()) }),
    ),
    untrack: z
      .strictObject({ series: seriesWords.min(1, emptyList).max(maxSeries) })
      .transform((given): ActionRequest => ({ action: 'untrack', ...given })),
    cancel: z
      .strictObject({ backfill: z.int().min(1) })
      .transform((given): ActionRequest => ({ action: 'cancel', ...given })),
    pause: ofSource.transform((given): ActionRequest => ({ action: 'pause', ...given })),
    resume: ofSource.transform((given): ActionRequest => ({ action: 'resume', ...given })),
    budget: budget.transform((given): ActionRequest => ({ action: 'budget', ...given })),
  } satisfies Readonly<Record<ActionRequest['action'], z.ZodType<ActionRequest>>>;
};
const isLong = (action: ActionRequest['action']) => action === 'verify' || action === 'repair';

/** The running verify or repair. */
interface LongAction {
  readonly request: ActionRequest;
  readonly by: string;
  /** Null until it is recorded. */
  id: number | null;
  ended: Promise<unknown>;
  progress: ActionLine['progress'];
}

/** Adds the routes. The access to the dashboard has been checked before. */
export function addActions(
  scope: FastifyInstance,
  { ports, database, mayWrite, log, token }: ActionsOptions,
  access: Access,
  clock: Clock,
): void {
  const requests = requestsAt(clock);
  const stop = new AbortController();
  const running: { long: LongAction | null } = { long: null };
  scope.addHook('onClose', async () => {
    stop.abort();
    await running.long?.ended.catch(() => {});
  });

  async function run(id: number, request: ActionRequest, by: string) {
    const end = (state: 'done' | 'failed', result: string) =>
      endAction.on(database.pool, { id, state, result, endedMs: clock.now() });
    try {
      const result = await ports.act(request, {
        by,
        signal: stop.signal,
        progress: {
          update: ({ done, of }) => {
            if (running.long?.id === id) running.long.progress = { done, of };
          },
          stop: () => {},
        },
      });
      await end('done', result);
      return { id, state: 'done', result };
    } catch (thrown) {
      const error = explainDatabaseError(thrown);
      const isKnown = error instanceof TidemarkError;
      if (!isKnown) log.error({ err: error, action: request.action }, 'an action of the dashboard failed');
      const said = isKnown ? `${error.code}: ${error.message}` : 'UNEXPECTED: see the log';
      await end('failed', said).catch((cause: unknown) =>
        log.warn({ cause: messageOf(cause) }, 'the result of an action could not be recorded'),
      );
      return { id, state: 'failed', error: said, remedy: isKnown ? error.remedy : '' };
    }
  }

  async function perform(action: ActionRequest['action'], asked: FastifyRequest, reply: FastifyReply) {
    const request = read(requests[action], asked.body);
    const userName = access.kind === 'password' ? userIn(asked.headers.authorization) : null;
    const by = `${userName === null ? '' : `${userName} at `}${asked.ip}`;
    const record = async () => {
      const row = { timeMs: clock.now(), action, request: asked.body, address: asked.ip, userName };
      const id = await recordAction(database, row);
      log.info({ action, by, id }, 'an action of the dashboard');
      return id;
    };
    if (!isLong(action)) {
      const ended = await run(await record(), request, by);
      return reply.code(ended.state === 'done' ? 200 : 422).send(ended);
    }
    if (running.long !== null) throw new ServiceRefusal(409, await runningText(database, running.long));
    const recorded = record();
    const taken: LongAction = { request, by, id: null, ended: recorded, progress: null };
    running.long = taken;
    const release = () => {
      running.long = null;
    };
    recorded.catch(release);
    taken.id = await recorded;
    taken.ended = run(taken.id, request, by).finally(release);
    return reply.code(202).send({ id: taken.id, state: 'running' });
  }

  scope.get('/dashboard/actions', async (_request, reply) => {
    const lines = (await newestActions.on(database.pool, { most: maxListed })).map(
      (line): ActionLine => ({ ...line, progress: line.id === running.long?.id ? running.long.progress : null }),
    );
    return json<'actions'>(reply, lines);
  });

  scope.register(async (guarded) => {
    guarded.addHook('onRequest', async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const refusal = refusalOf(request, access.kind === 'password' ? null : token);
      if (refusal === null) return;
      // Who opens a page without the token looks, and does not act.
      const isLook = /\/(?:cost|plan)$/.test(request.routeOptions.url ?? '');
      if (!isLook) log.warn({ from: request.ip, url: request.url, cause: refusal.message }, 'an action was refused');
      throw refusal;
    });
    for (const action of Object.keys(requests) as ActionRequest['action'][])
      guarded.post(`/dashboard/actions/${action}`, (request, reply) => {
        if (mayWrite) return perform(action, request, reply);
        const message =
          'the database role of this service may only read: set DASHBOARD_DATABASE_URL to the same database as ' +
          'tidemark_worker';
        throw new ServiceRefusal(403, message);
      });
    const answer = async (reply: FastifyReply, planned: () => Promise<object>) => {
      try {
        return reply.send(await planned());
      } catch (thrown) {
        const error = explainDatabaseError(thrown);
        if (!(error instanceof TidemarkError)) throw error;
        return reply.code(422).send({ error: `${error.code}: ${error.message}`, remedy: error.remedy });
      }
    };
    guarded.post('/dashboard/actions/plan', (request, reply) => {
      const selection = selectionOf(read(tracking, request.body), clock.now());
      return answer(reply, () => ports.planTracking(selection));
    });
    for (const action of ['retry', 'verify', 'repair'] as const)
      guarded.post(`/dashboard/actions/${action}/cost`, (request, reply) => {
        const asked = read(requests[action], request.body);
        return answer(reply, async () => ({ cost: await ports.costOf(asked) }));
      });
  });
}

/** `another verify is running: of kraken bitcoin/euro h1, 3 of 40 windows, asked by ann at 127.0.0.1`. */
async function runningText(database: Database, { request, by, progress }: LongAction): Promise<string> {
  const series = ('series' in request ? request.series : undefined) ?? [];
  const known = new Map((await listSeriesNames(database)).map(({ id, name }) => [String(id), name]));
  const [first, ...others] = series.map((word) => known.get(word) ?? word);
  const more = others.length === 0 ? '' : ` and ${formatCount(others.length)} more`;
  const windows = progress === null ? '' : `, ${formatCount(progress.done)} of ${counted(progress.of, 'window')}`;
  const of = first === undefined ? 'all series' : `${first}${more}`;
  return `another ${request.action} is running: of ${of}${windows}, asked by ${printable(by)}`;
}

/** @param token what the request needs; null: its password was checked. */
function refusalOf({ headers, host }: FastifyRequest, token: string | null): ServiceRefusal | null {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const foreign = 'actions are for the page of this service only';
  if (site !== undefined && site !== 'same-origin') return new ServiceRefusal(403, foreign);
  if (origin !== undefined && hostOf(origin) !== host)
    return new ServiceRefusal(
      403,
      `${foreign}: Origin has another host than the request; a proxy has to pass Host, or X-Forwarded-Host with ` +
        'TRUSTED_PROXIES',
    );
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json')
    return new ServiceRefusal(415, 'the content type must be application/json');
  if (token === null) return null;
  const given = headers[tokenHeader];
  if (typeof given === 'string' && isSame(given, token)) return null;
  return new ServiceRefusal(
    401,
    'without DASHBOARD_PASSWORD an action needs the token of this process: open the address with #token= that ' +
      `serve, run or demo printed, or send the token in ${tokenHeader}`,
  );
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body, { error: shapeProblem });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ServiceRefusal(400, `bad ${issue?.path.join('.') || 'request'}: ${issue?.message ?? ''}`);
}

/** @throws ServiceRefusal 400 for a time that is none, and for a range without a length. */
function rangeOf(from: number | string, to: number | string | null | undefined, nowMs: EpochMs): Range {
  const startMs = timeOf(from, 'from', nowMs);
  const endMs = to == null ? nowMs : timeOf(to, 'to', nowMs);
  if (startMs >= endMs) throw new ServiceRefusal(400, 'bad from: it is not before the end');
  return { startMs, endMs };
}

/** @throws ServiceRefusal 400 as {@link rangeOf}, and for an interval that the dataset does not have. */
function selectionOf(given: z.output<typeof tracking>, nowMs: EpochMs): Selection {
  const { startMs: fromMs, endMs } = rangeOf(given.from, given.to, nowMs);
  const toMs = given.to == null ? null : endMs;
  const { dataset } = given;
  const { names, source } = namesOf(given);
  return {
    series: [...new Set(given.intervals)].map((interval) => {
      const series = seriesOfKey(dataset, [...names, interval]);
      if (series !== null) return series;
      throw new ServiceRefusal(400, `bad intervals: ${wrongInterval(interval, datasets[dataset])}`);
    }),
    fromMs,
    toMs,
    source,
  };
}

/** @throws ServiceRefusal 400 for a market of which too little is said. */
function namesOf(given: z.output<typeof tracking>) {
  if ('asset' in given)
    return { names: [given.asset], source: given.source == null ? null : { name: given.source, symbol: null } };
  const { exchange, base, quote, source, symbol } = given;
  const said = Object.entries({ exchange, base, quote, source, symbol }).filter(([, words]) => words != null);
  const { lacks, names, source: choice } = chooseMarket(Object.fromEntries(said));
  if (lacks[0] !== undefined) throw new ServiceRefusal(400, `bad ${lacks[0]}: missing`);
  return { names: [names.exchange, names.base, names.quote], source: choice };
}

/** Milliseconds since 1970, or as `--from` takes it. */
function timeOf(text: number | string, what: string, nowMs: EpochMs): EpochMs {
  if (typeof text === 'number') return text;
  const timeMs = isAge(text) ? timeOfAge(text, nowMs) : parseIsoTime(text);
  if (timeMs !== null && timeMs >= 0) return timeMs;
  throw new ServiceRefusal(400, `bad ${what}: not a date, an age such as 90d, or milliseconds`);
}
