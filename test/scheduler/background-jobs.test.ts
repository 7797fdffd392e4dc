import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { type RunningScheduler, startScheduler } from '../../scheduler/scheduler.ts';
import { columnstoreTask, startTask } from '../../scheduler/upkeep.ts';
import { isLockWait } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import { readFailingJobs, readUpkeep } from '../../store/upkeep/jobs.ts';
import { openDashboardWorld } from '../dashboard/dashboard-world.ts';
import { Arrivals } from '../parts/arrivals.ts';
import type { DatabasePart } from '../parts/database-part.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { obtainTimescale } from '../parts/obtain-database.ts';
import { clockAt } from '../parts/test-clock.ts';
import { createFrom, createTemplate } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { collectingLog, defaultKind, openQueue, prepareQueue, silent } from '../queue/queue-parts.ts';
import { candles, expectRollupsToAgree, markBehind, market, put } from '../schema/api/candles.ts';
import { processesMs, tidemark } from '../scripts/command.ts';
import { sourcesOf } from '../sources/source-facts.ts';
import { type TestStore, testStoreOn } from '../store/open-store.ts';

const daysStored = 120;
const afterDays = 14;

describeNeeding('timescale', "TimescaleDB's background workers", () => {
  let server: DatabasePart;
  let template: string;
  beforeAll(async () => {
    // The server of the other tests has no background workers.
    const obtained = await obtainTimescale({ 'timescaledb.max_background_workers': 8 });
    if (typeof obtained === 'string') throw new Error(obtained);
    server = obtained;
    ({ name: template } = await createTemplate(server.url));
  });
  afterAll(() => server.stop());

  let store: TestStore;
  let seriesId: number;
  const nowMs = Math.floor(Date.now() / hourMs) * hourMs;
  beforeEach(async () => {
    const opened = testStoreOn(await createFrom(template, server.url));
    store = opened;
    onTestFinished(() => opened.close());
    ({ seriesId } = await trackSeries(store.database, market('a', 'h1'), nowMs - daysStored * dayMs, null));
    await put(store.database, seriesId, candles(nowMs - daysStored * dayMs, hourMs, daysStored * 24));
  });
  const policies = `select job_id from timescaledb_information.jobs
    where hypertable_schema = 'tidemark' and hypertable_name in ('candle_points', 'rollup_days')`;

  /** Lets the server's background workers run the policies of the candles and of the days, and waits for their end. */
  async function runByWorkers(): Promise<void> {
    const { pool } = store.database;
    await pool.query('select _timescaledb_functions.start_background_workers()');
    await pool.query(`select alter_job(job_id, scheduled => true, next_start => now()) from (${policies}) j`);
    await waitFor('background workers to run the policies', async () => {
      const { rows } = await pool.query<{ ended: boolean }>(
        `select count(*) = 2 as ended from timescaledb_information.job_stats
         where job_id in (${policies}) and last_run_status is not null and job_status <> 'Running'`,
      );
      return rows[0]?.ended === true;
    });
  }

  const rename = (from: string, to: string) =>
    store.database.pool.query(`do $$ declare one regprocedure; begin
      for one in select oid from pg_proc where proname = '${from}' loop
        execute format('alter routine %s rename to ${to}', one);
      end loop;
    end $$`);
  const upkeep = () => readUpkeep(store.database, { nowMs, afterDays });

  it('report a failed run with its error, and the scheduler does the remaining work', async () => {
    const { database } = store;
    // In any version of TimescaleDB the policies fail at a function that they call.
    await rename('policy_compression_execute', 'away');
    const before = await upkeep();
    expect(before.chunksDue).toBeGreaterThan(1);
    expect(before.rollupsBehind).toBe(1);
    expect(before.failingJobs.filter(({ of }) => of !== null)).toEqual([]);
    await runByWorkers();
    const failing = await readFailingJobs(database);
    expect(failing.find(({ of }) => of === 'tidemark.candle_points')).toMatchObject({
      kind: 'policy_compression',
      state: 'failed',
      message: expect.stringContaining('policy_compression_execute'),
    });
    const client = await database.pool.connect();
    await client.query('create role sees_no_errors');
    await client.query('set role sees_no_errors');
    const seen = await readFailingJobs({ ...database, pool: client as never });
    expect(seen.find(({ of }) => of === 'tidemark.candle_points')?.message).toMatch(/^only \S+ may read why$/);
    await client.query('reset role');
    await client.query('drop role sees_no_errors');
    client.release();
    const lines: string[] = [];
    const queueOptions = await prepareQueue(defaultKind(), store.url);
    const schedulers: RunningScheduler[] = [];
    for (const _ of [1, 2]) {
      const scheduler = await startScheduler({
        database,
        queues: await openQueue(queueOptions),
        sources: sourcesOf({}),
        settings: { tickMs: 1000, refreshMs: 1000, pollsByDefault: false, backfillShare: 0.2 },
        graceMs: 0,
        refresh: false,
        columnstoreAfterDays: afterDays,
        columnstoreEveryMs: 50,
        rollupsEveryMs: 50,
        log: collectingLog(lines),
        clock: clockAt(() => nowMs),
      });
      onTestFinished(() => scheduler.close());
      schedulers.push(scheduler);
    }
    await waitFor('no chunk to be due and no rollup to be behind', async () => {
      // The check may fail on the locks of chunks that are being moved.
      const found = await upkeep().catch((error: unknown) => {
        if (isLockWait(error)) return null;
        throw error;
      });
      return found?.chunksDue === 0 && found.rollupsBehind === 0;
    });
    await Promise.all(schedulers.map((scheduler) => scheduler.close()));
    await expectRollupsToAgree(database);
    const stored = await database.pool.query<{ points: number }>(
      'select count(*) as points from tidemark.candle_points',
    );
    expect(stored.rows).toEqual([{ points: daysStored * 24 }]);
    expect(lines).toEqual([]);
  });

  it('leave no work to the scheduler when they run, and a paused policy stays paused', async () => {
    const { database } = store;
    const moved: string[] = [];
    const log = { ...silent, info: (_facts: object, line: string) => moved.push(line) };
    const looks = new Arrivals<number>();
    const now = () => {
      looks.push(nowMs);
      return nowMs;
    };
    const clock = clockAt(now);
    const keeper = startTask(clock, columnstoreTask({ database, afterDays, everyMs: 10, log: log as never, clock }));
    onTestFinished(() => keeper.close());
    await looks.until(4);
    await keeper.close();
    expect(moved).toEqual([]);
    expect((await upkeep()).chunksDue).toBeGreaterThan(1);
    await runByWorkers();
    expect((await upkeep()).chunksDue).toBe(0);
  });

  it('are joined by a release of TimescaleDB that is not known, which stops nothing else', async () => {
    await rename('chunk_status_text', 'away');
    const { failingJobs, chunksDue, rollupsBehind } = await upkeep();
    expect(failingJobs.at(-1)).toMatchObject({
      kind: 'columnstore',
      state: 'failed',
      message: expect.stringMatching(
        /^TimescaleDB 2\..* lacks .*chunk_status_text\(regclass\), which .*; upgrade Tidemark/,
      ),
    });
    expect([chunksDue, rollupsBehind]).toEqual([0, 1]);
    await rename('away', 'chunk_status_text');
    expect((await upkeep()).chunksDue).toBeGreaterThan(1);
  });

  it(
    'appear in status, as text and as JSON, and among the problems of the dashboard',
    async () => {
      const { database, url } = store;
      const id = await database.pool.query<{ job_id: number }>(
        `select job_id from (${policies}) j order by job_id limit 1`,
      );
      await rename('policy_compression_execute', 'away');
      await runByWorkers();
      await tidemark(['migrate'], { DATABASE_URL: url });
      await markBehind(database, seriesId);
      const status = await tidemark(['status'], { DATABASE_URL: url });
      expect(status.stdout).toMatch(/^database jobs: \d+ failing \(the scheduler does their work\), such as .+: .+$/m);
      expect(status.stdout).toMatch(
        /^upkeep: the rollups of 1 series await a refresh, \d+ chunks? awaits? the columnstore$/m,
      );
      const { upkeep: said } = JSON.parse((await tidemark(['status', '--json'], { DATABASE_URL: url })).stdout);
      expect(said).toMatchObject({ rollupsBehind: expect.any(Number), chunksDue: expect.any(Number) });
      expect(said.failingJobs.map(({ jobId }: { jobId: number }) => jobId)).toContain(id.rows[0]?.job_id);
      const world = await openDashboardWorld(store);
      onTestFinished(() => world.close());
      const problems = await (await fetch(`${world.url}dashboard/problems`)).json();
      expect(problems).toMatchObject({
        jobs: expect.arrayContaining([
          expect.objectContaining({
            of: 'tidemark.candle_points',
            message: expect.stringContaining('policy_compression_execute'),
          }),
        ]),
      });
    },
    processesMs + minuteMs,
  );
});
