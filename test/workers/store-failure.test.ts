import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultSource } from '../../model/sources.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { createCircuitBreaker } from '../../workers/circuit-breaker.ts';
import { createRangeLimitLearner } from '../../workers/range-limit-learner.ts';
import { runAttempt } from '../../workers/run-attempt.ts';
import { createSourceGate } from '../../workers/source-gate.ts';
import { storeTroubleOf } from '../../workers/store-failure.ts';
import type { Work } from '../../workers/work.ts';
import type { WorkerContext } from '../../workers/worker-context.ts';
import { freePort } from '../parts/free-port.ts';
import { clockAt } from '../parts/test-clock.ts';
import { rulesOf } from '../parts/windows.ts';
import { defaultKind, silent } from '../queue/queue-parts.ts';
import { sourceAt } from '../sources/local-server.ts';
import { noonMs, openParts, trackHours, type WorkerParts } from './worker-parts.ts';

function withCode(code: string, message = 'refused'): Error {
  return Object.assign(new Error(message), { code });
}

test.each([
  ['53100', true],
  ['57P01', true],
  ['28P01', true],
  ['25006', true],
  ['57014', false],
  ['08006', true],
  ['40001', true],
  ['ECONNREFUSED', true],
  ['ERR_INVALID_ARG_TYPE', false],
  ['53400', false],
  ['23514', false],
])('whether SQLSTATE or code %s is transient: %s', (code, isTransient) => {
  expect(storeTroubleOf(withCode(code)).isTransient).toBe(isTransient);
});

test('an exhausted pool is temporary, a defect is not', () => {
  expect(storeTroubleOf(new Error('timeout exceeded when trying to connect')).isTransient).toBe(true);
  expect(storeTroubleOf(new Error('Connection terminated unexpectedly')).isTransient).toBe(true);
  expect(storeTroubleOf(new TypeError('rows is not iterable')).isTransient).toBe(false);
});

const commitNothing = () => Promise.reject(new Error('nothing is committed here'));

describe('an attempt whose answer cannot be stored', () => {
  const attempt = (last: boolean) => ({ number: last ? 3 : 1, last, stopping: new AbortController().signal });

  async function prepare(): Promise<{
    context: WorkerContext;
    workOf: (error: Error) => Work<string>;
    all: WorkerParts;
  }> {
    const all = await openParts(defaultKind());
    const [window] = await trackHours(all, 1);
    if (window === undefined) throw new Error('no window');
    const workOf = (error: Error): Work<string> => ({
      dataset: 'candles',
      lane: 'backfill',
      ...{ window, whole: window },
      fetch: async () => 'answer',
      commit: () => Promise.reject(error),
    });
    return { context: contextOf(all.queues, all.database), workOf, all };
  }

  function contextOf(queues: QueueBackend, database: Database): WorkerContext {
    const clock = clockAt(() => noonMs);
    const { requests } = queues;
    return {
      database,
      source: {
        name: defaultSource,
        client: sourceAt('http://127.0.0.1:1'),
        requests,
        breaker: createCircuitBreaker({ what: 'the source', threshold: 5, log: silent }),
        gate: createSourceGate({ database, source: defaultSource, requests, log: silent, clock }),
        rangeLimits: createRangeLimitLearner({ restMs: 1000 }),
        unknownSeries: new Set(),
        toldRejections: new Set(),
        symbolOf: async () => undefined,
      },
      storeBreaker: createCircuitBreaker({ what: 'the database', threshold: 1, log: silent }),
      commits: { slot: (commit) => commit(), store: commitNothing, compare: commitNothing },
      rules: { ...rulesOf(600_000), failedRetryMs: 600_000 },
      events: undefined,
      log: silent,
      clock,
      random: () => 0,
    };
  }

  const retried = (inMs: number, counted: boolean) => ({ kind: 'retry', inMs, counted });

  test('costs the window no attempt while the database fails, and repeats no request', async () => {
    const { context, workOf, all } = await prepare();
    const work = workOf(withCode('53100', 'could not extend file: No space left on device'));
    expect(await runAttempt(work, attempt(true), context)).toEqual(retried(1000, false));
    expect(await all.queues.requests.pausedForMs()).toBeGreaterThan(0);
    expect(await listGaps(all.database, { nowMs: noonMs, graceMs: 0 })).toMatchObject([{ reason: 'not_asked' }]);
  });

  test('uses up its attempts when it can never be stored, and is then deferred', async () => {
    const { context, workOf, all } = await prepare();
    const work = workOf(withCode('23514', 'violates check constraint'));
    expect(await runAttempt(work, attempt(false), context)).toEqual(retried(500, true));
    expect(await runAttempt(work, attempt(true), context)).toEqual({ kind: 'done' });
    expect(await listGaps(all.database, { nowMs: noonMs, graceMs: 0 })).toMatchObject([
      { reason: 'failed', message: 'violates check constraint' },
    ]);
  });

  async function unreachableDatabase(): Promise<Database> {
    const away = openDatabase({
      url: `postgres://tidemark@127.0.0.1:${await freePort()}/none`,
      applicationName: 'tidemark test',
      maxConnections: 1,
      statementTimeoutMs: 1000,
    });
    onTestFinished(() => away.close());
    return away;
  }

  test('requests nothing from the source until the database answers', async () => {
    const { context, workOf, all } = await prepare();
    let requests = 0;
    const work = {
      ...workOf(withCode('ECONNREFUSED')),
      async fetch() {
        requests += 1;
        return 'answer';
      },
    };
    const whileAway = contextOf(all.queues, await unreachableDatabase());
    for (let tries = 0; tries < 5; tries += 1)
      expect(await runAttempt(work, attempt(true), whileAway)).toEqual(retried(1000, false));
    expect(requests).toBe(0);
    const { storeBreaker } = whileAway;
    expect(await runAttempt(work, attempt(true), { ...context, storeBreaker })).toEqual(retried(1000, false));
    expect(requests).toBe(1);
  });
});
