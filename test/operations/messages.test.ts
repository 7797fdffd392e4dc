/** Messages are for people. What is planned, counted and said follows from reasons and kinds of errors. */

import { expect, it } from 'vitest';
import { readBands } from '../../dashboard/queries/bands.ts';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { type Reason, reasonNames, reasons, reasonsWith } from '../../model/reasons.ts';
import { defaultSource } from '../../model/sources.ts';
import { listBackfills } from '../../operations/backfill/list.ts';
import { isAwaited, partsWithin, portionsOf, refusalOf, windowsLeft } from '../../operations/backfill/outcome.ts';
import type { OperationContext } from '../../operations/context.ts';
import { explainUnasked, isWorkable, readGapDivision } from '../../operations/source-gaps.ts';
import { readStoredFacts } from '../../operations/status/facts.ts';
import { stateOf } from '../../planning/headline.ts';
import { idleLoad, planPass } from '../../planning/pass.ts';
import { beyondDepthText } from '../../planning/periods.ts';
import { partsOfSource } from '../../planning/source-share.ts';
import { readRegistry } from '../../runtime/sources.ts';
import { readFacts, readSeries } from '../../scheduler/read-facts.ts';
import { readConfig } from '../../settings/config.ts';
import type { Database } from '../../store/db/database.ts';
import { insertBackfill } from '../../store/ledger/backfills.ts';
import { recordFetch } from '../../store/ledger/ledger.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { blockSeries, trackSeries } from '../../store/series/series.ts';
import { sourcesInUse } from '../../store/series/sources.ts';
import { measureGaps } from '../../store/status/measures.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { setSeriesSources } from '../parts/series-sources.ts';
import { bitcoinHours } from '../queue/queue-parts.ts';
import { openOwnStore } from '../store/open-store.ts';

const nowMs = Date.UTC(2024, 0, 20);
const startMs = nowMs - 10 * dayMs;

/** Messages that once decided something. */
const messages: Partial<Record<Reason, string>> = {
  awaiting: 'the source answered without points',
  unusable_file: 'no row of the answer was readable, or none belonged to the window',
  disputed: 'the answer has rows of this period that differ',
  lacks: 'the source says that this is not complete there',
  beyond_depth: beyondDepthText('kraken', { ...bitcoinHours, interval: 'm1' }, { periods: 720 }),
};
const errors = {
  unreachable: 'GET /rates: connect ECONNREFUSED 127.0.0.1:1',
  notice: 'GET /rates: this service is retired',
  rate_limited: 'GET /rates: status 429: too many requests',
};

/** Two hours of each reason, one of them due, of three lists of sources; and gaps that are not deferred. */
async function openGaps() {
  const { database } = await openOwnStore();
  const track = async (baseId: string, sources: readonly string[], fromMs = startMs, toMs = startMs + 2 * hourMs) => {
    const key = { ...bitcoinHours, exchange: 'kraken', baseId, quoteId: 'euro' };
    const { seriesId } = await trackSeries(database, key, fromMs, toMs);
    const given = sources.map((source) => ({ source, symbol: baseId, isArchive: source === 'binance-archive' }));
    await setSeriesSources(database, seriesId, given);
    return seriesId;
  };
  for (const reason of reasonsWith(({ shown }) => shown !== 'not_asked' && shown !== 'blocked'))
    for (const [name, sources] of [
      ['default', [defaultSource]],
      ['named', ['binance-archive', 'kraken']],
      ['last', ['kraken']],
    ] as const)
      await database.pool.query(
        `insert into tidemark.pending_windows (series_id, range, source, reason, message, first_at, retry_at)
         select $1, tstzrange(time, time + interval '1 hour'), $2, $3, $4, time,
                $5::timestamptz + place * interval '1 day'
         from (values (-1, to_timestamp($6)), (1, to_timestamp($6) + interval '1 hour')) w (place, time)`,
        [
          ...[await track(`${reason}-${name}`, sources), sources[0], reason],
          ...[messages[reason] ?? `message of ${reason}`, new Date(nowMs), startMs / 1000],
        ],
      );
  const untilMs = nowMs + hourMs;
  await blockSeries(database, {
    seriesId: await track('refused', [defaultSource]),
    source: defaultSource,
    kind: 'x',
    message: 'message of blocked',
    untilMs,
  });
  await track('older-than-kept', ['kraken'], nowMs - 100 * dayMs, nowMs - 99 * dayMs);
  await track('not-published', ['binance-archive'], nowMs - 2 * dayMs, nowMs);
  const retried = await track('retried', [defaultSource]);
  for (const [verdict, error] of Object.entries(errors))
    for (const source of verdict === 'rate_limited' ? ['kraken'] : [defaultSource])
      await recordFetch(database.pool, {
        ...{ timeMs: nowMs - minuteMs, dataset: 'candles', seriesId: retried, lane: 'backfill', attempt: 1 },
        ...{
          range: { startMs, endMs: startMs + hourMs },
          verdict,
          status: null,
          bytes: 0,
          durationMs: 1,
          error,
          source,
        },
      });
  return database;
}

async function plansOf(database: Database, context: Pick<OperationContext, 'sources'>) {
  const configured = await context.sources();
  const plans: unknown[] = [];
  for (const name of await sourcesInUse(database)) {
    const settings = configured.find(name)?.facts;
    const source = {
      ...{ name, requestsPerMinute: 0 },
      ...(settings === undefined ? {} : partsOfSource(settings, configured.facts)),
    };
    const of = { database, source, rules: { graceMs: 0, backfillShare: 0.2, openRefreshMs: null } };
    const facts = await readFacts(of, idleLoad(0, 0.2), { nowMs, most: 1000 });
    const series = await readSeries(of, { nowMs, count: 1000, ranges: 1000, cursor: 0 });
    plans.push({ name, ...planPass({ ...facts, ...series, duePages: [] }) });
  }
  return plans;
}

async function everythingOf(database: Database) {
  const config = readConfig({ GRACE_SECONDS: '0' });
  const parts = { database, config, clock: { now: () => nowMs }, sources: () => readRegistry(config) };
  const context = parts as unknown as OperationContext;
  const { divide } = await readGapDivision(context, nowMs);
  const status = await seriesStatus(database, { nowMs, graceMs: 0 });
  const listed = await listGaps(database, { nowMs, graceMs: 0, ledger: true });
  const gaps = explainUnasked(listed, divide);
  const windows = windowsLeft(gaps, nowMs, divide);
  const tracked = new Map(status.map((row) => [row.seriesId, row]));
  const everything = new Map(status.map(({ seriesId }) => [seriesId, { startMs: 0, endMs: nowMs }]));
  const outcomes: unknown[] = [];
  for (const seriesId of tracked.keys()) {
    const own = gaps.filter((gap) => gap.seriesId === seriesId);
    const refusal = await refusalOf(context, own, { seriesIds: [seriesId] });
    const { code, exitCode, remedy } = refusal ?? {};
    const waits = own.map((gap) => [isWorkable(gap, nowMs), isAwaited(gap, nowMs, true), isAwaited(gap, nowMs, false)]);
    outcomes.push({ code, exitCode, remedy, waits });
  }
  const stored = await readStoredFacts(context, nowMs, listed);
  const queue = {
    schedulers: 1,
    sources: stored.sources.map(({ source }) => ({ source, workers: 1, pausedMs: 0, perMinute: 9, lowered: null })),
  };
  return {
    plans: await plansOf(database, context),
    gaps,
    status,
    measures: await measureGaps.on(database.pool, { nowMs, graceMs: 0 }),
    portions: portionsOf(gaps, partsWithin(status, everything, divide), windows),
    outcomes,
    stored,
    state: stateOf({ ...stored, nowMs, tracked: { requests: 0, wantedMs: 0, coveredMs: 0 }, queue }),
  };
}

it('replacing every message by x changes no plan, status, headline or exit code', async () => {
  const database = await openGaps();
  const before = await everythingOf(database);
  // The premise: each reason occurs, and there is something to say and to plan.
  expect(new Set(before.gaps.map(({ cause }) => cause))).toEqual(new Set(reasonNames));
  expect(before.plans.length).toBe(3);
  expect(new Set(before.state.also.map(({ kind }) => kind))).toContain('ranges_beyond_depth');
  await database.pool.query(`update tidemark.pending_windows set message = 'x';
                             update tidemark.series set blocked_message = 'x' where blocked_message is not null;
                             update tidemark.fetches set error = 'x' where error is not null`);
  const told = [...new Set([...before.gaps.map(({ message }) => message), ...Object.values(errors)])];
  const withoutMessages = (value: unknown) =>
    told
      .filter((message) => message !== null)
      .sort((one, other) => other.length - one.length)
      .reduce((text, message) => text.replaceAll(message, 'x'), JSON.stringify(value, null, 1));
  expect(withoutMessages(await everythingOf(database))).toBe(withoutMessages(before));
});

it('status, gaps and the page count the same as failed and as awaiting, also where a next source was asked', async () => {
  const database = await openGaps();
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, source, reason, first_at, retry_at)
     select id, tracked, 'kraken', 'awaiting', lower(tracked), $1::timestamptz + interval '9 days'
     from tidemark.series where base_id in ('lacks-named', 'truncated-named', 'failed-default')`,
    [new Date(nowMs)],
  );
  await database.pool.query(
    `insert into tidemark.fetches (time, dataset, series_id, range, lane, attempt, verdict, error, source, bytes, duration_ms)
     select $1::timestamptz - interval '1 minute', dataset, p.series_id, p.range, 'backfill', 1, 'incomplete', 'no file', p.source, 0, 1
     from tidemark.pending_windows p join tidemark.series on id = series_id where base_id like '%-named' and p.source = 'binance-archive'`,
    [new Date(nowMs)],
  );
  const gaps = await listGaps(database, { nowMs, graceMs: 0, ledger: true });
  const lengths = (seriesId: number, reason: string) =>
    gaps
      .filter((gap) => gap.seriesId === seriesId && gap.reason === reason)
      .reduce((sum, { startMs: fromMs, endMs }) => sum + endMs - fromMs, 0);
  const status = await seriesStatus(database, { nowMs, graceMs: 0 });
  const seriesIds = status.map(({ seriesId }) => seriesId);
  const bands = await readBands(database, { ...{ nowMs, graceMs: 0, seriesIds }, range: null, columns: 2 });
  for (const { seriesId, series, failedMs, awaitingMs, blocked } of status) {
    if (blocked !== null || series.dataset !== 'candles') continue;
    const listed = [lengths(seriesId, 'failed'), lengths(seriesId, 'awaits_second_answer')];
    expect([series.baseId, failedMs, awaitingMs]).toEqual([series.baseId, ...listed]);
    const band = bands.find(({ id }) => id === seriesId);
    expect([series.baseId, (band?.failed ?? []).length > 0]).toEqual([series.baseId, failedMs > 0]);
  }
  // The source after the archive is asked for what the archive failed to give.
  expect(status.filter(({ series, failedMs }) => failedMs > 0 && /-named$/.test(JSON.stringify(series)))).toEqual([]);
});

it.each(['awaiting', 'failed'] as const)(
  'a backfill of which nothing is due says when the %s rest is asked again',
  async (reason) => {
    const { database } = await openOwnStore();
    const toMs = startMs + 10 * hourMs;
    const { seriesId, tracked } = await trackSeries(database, bitcoinHours, startMs, toMs);
    const series = [{ seriesId, range: { startMs, endMs: toMs }, before: null, after: tracked }];
    await insertBackfill(database.pool, { kind: 'backfill', by: 'x', series }, { nowMs, isAlive: false });
    await database.pool.query(
      `update tidemark.series set covered = tstzmultirange(tstzrange(lower(tracked), lower(tracked) + interval '9 hours'))`,
    );
    await database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, source, reason, message, first_at, retry_at)
     select id, tstzrange(lower(tracked) + interval '9 hours', upper(tracked)), $1, $2, 'x', $3, $4 from tidemark.series`,
      [defaultSource, reason, new Date(nowMs), new Date(nowMs + 30 * minuteMs)],
    );
    const config = readConfig({ GRACE_SECONDS: '0' });
    const context = { database, config, sources: () => readRegistry(config) };
    const queue = { schedulers: 1, sources: [] };
    const listed = (atMs: number) => listBackfills(context, queue, { nowMs: atMs, id: null, most: 1 });
    expect(await listed(nowMs)).toMatchObject([
      {
        ...{ state: 'waiting', left: 0, etaMs: null },
        progress: `1 range is asked again at 2024-01-20 00:30Z (${reasons[reason].words}), 90.00 % covered`,
      },
    ]);
    expect(await listed(nowMs + hourMs)).toMatchObject([
      { left: 1, progress: '1 of 1 request to go, 90.00 % covered' },
    ]);
  },
);
