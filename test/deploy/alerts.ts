/** For each alert of deploy/prometheus/rules.yml: samples at which it fires, and samples at which it must not. */

export interface AlertCase {
  readonly alert: string;
  /** Samples every 30 seconds, in promtool's notation: `1+2x3` is 1 3 5 7. */
  readonly fires: Readonly<Record<string, string>>;
  /** The time of the check, when every condition has lasted longer than the alert waits. Absent: 20 minutes. */
  readonly at?: string;
  /** Added to the alert's own labels. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly summary: string;
  /** Each of these looks like a problem and is none. */
  readonly quiet: ReadonlyArray<Readonly<Record<string, string>>>;
}

const always = (value: number, samples = 400) => `${value}+0x${samples}`;
const m1 = '{dataset="candles",interval="m1"}';
const gap = (reason: string) => `tidemark_gap_seconds{dataset="candles",interval="m1",reason="${reason}"}`;
const worker = 'instance="10.0.0.1:9464",job="tidemark"';
const request = (outcome: string) => `tidemark_source_requests_total{endpoint="candles",outcome="${outcome}"}`;
const used = (lane: string) => `tidemark_budget_used_requests_per_minute{lane="${lane}"}`;
const budget = (limit: number, backfill: number, missing: number) => ({
  tidemark_budget_limit_requests_per_minute: always(limit),
  [used('backfill')]: always(backfill),
  [gap('not_asked')]: always(missing),
});
const served = (status: string) => `tidemark_served_requests_total{route="/v2/candles",status="${status}"}`;
const disk = (what: string) =>
  `node_filesystem_${what}_bytes{fstype="ext4",instance="host-metrics:9100",mountpoint="/"}`;

const up = (process: string, place = 1) =>
  `up{instance="${process}-${place}:9464",job="tidemark",process="${process}"}`;
const running = { [up('scheduler')]: always(1), [up('service')]: always(1) };

export const alertCases: readonly AlertCase[] = [
  {
    alert: 'TidemarkDown',
    fires: { [`up{${worker}}`]: always(0) },
    labels: { instance: '10.0.0.1:9464', job: 'tidemark' },
    summary: 'A process of Tidemark at 10.0.0.1:9464 does not answer.',
    // The process restarts within minutes.
    quiet: [{ [`up{${worker}}`]: '1 1 0 0 0 0 1+0x60' }],
  },
  ...(['scheduler', 'service'] as const).map(
    (process): AlertCase => ({
      alert: 'TidemarkGone',
      // Its container is stopped and its target disappears; the others continue.
      fires: { ...running, [up(process)]: '1+0x10 stale' },
      labels: { job: 'tidemark', process },
      summary: `There is no ${process} of Tidemark.`,
      quiet: [
        running,
        // Recreated within minutes; one of two is left; present but not answering, which TidemarkDown reports.
        { ...running, [up(process)]: '1+0x10 stale _x4 1+0x400' },
        { ...running, [up(process)]: '1+0x10 stale', [up(process, 2)]: always(1) },
        { ...running, [up(process)]: always(0) },
      ],
    }),
  ),
  {
    alert: 'TidemarkStateUnknown',
    fires: { [`up{${worker}}`]: always(1) },
    summary: 'No scheduler reports the state: it is down, or the database cannot be read.',
    quiet: [{ tidemark_database_size_bytes: always(1e9) }],
  },
  {
    alert: 'TidemarkNoWorkers',
    fires: { 'tidemark_condition{kind="no_worker",level="bad"}': always(1) },
    summary: 'No worker is connected to the queue of a source: nothing is fetched from it.',
    quiet: [{ 'tidemark_condition{kind="no_worker",level="bad"}': '0 1 1 0+0x60' }],
  },
  {
    alert: 'TidemarkQueueAway',
    fires: { 'tidemark_condition{kind="queue_away",level="bad"}': always(1) },
    summary: 'The queue does not answer: nothing is requested.',
    quiet: [{ 'tidemark_condition{kind="queue_away",level="bad"}': '0 1 1 0+0x60' }],
  },
  {
    alert: 'TidemarkNotPlanning',
    fires: { 'tidemark_planning_passes_total{outcome="planned"}': always(100) },
    summary: 'No planning pass has succeeded for minutes: nothing new is queued.',
    // The other of two schedulers plans.
    quiet: [
      {
        'tidemark_planning_passes_total{instance="a",outcome="planned"}': always(100),
        'tidemark_planning_passes_total{instance="b",outcome="planned"}': '0+30x400',
      },
    ],
  },
  {
    alert: 'TidemarkEventLoopBlocked',
    fires: { [`nodejs_eventloop_lag_p99_seconds{${worker}}`]: always(0.8) },
    labels: { instance: '10.0.0.1:9464', job: 'tidemark' },
    summary: 'The process at 10.0.0.1:9464 is short of processor time: its event loop waits 800ms.',
    quiet: [{ [`nodejs_eventloop_lag_p99_seconds{${worker}}`]: always(0.02) }],
  },
  {
    alert: 'TidemarkStale',
    fires: { [`tidemark_lag_seconds${m1}`]: '0+30x400' },
    at: '40m',
    labels: { dataset: 'candles', interval: 'm1' },
    summary: 'The newest candles m1 are missing: a series is 40m 0s behind.',
    quiet: [
      // A day's candle has just closed, and is fetched within minutes.
      { 'tidemark_lag_seconds{dataset="candles",interval="d1"}': '0 0 86400+0x10 0+0x100' },
      { [`tidemark_lag_seconds${m1}`]: always(60) },
    ],
  },
  {
    alert: 'TidemarkListStale',
    fires: {
      'tidemark_newest_age_seconds{dataset="rates"}': '0+30x400',
      'tidemark_poll_interval_seconds{dataset="rates"}': always(300),
    },
    at: '30m',
    labels: { dataset: 'rates' },
    summary: 'The list rates is 30m 0s old.',
    quiet: [
      // Polled once a day; and a market without trades, whose old candles say nothing.
      {
        'tidemark_newest_age_seconds{dataset="assets"}': always(86_000),
        'tidemark_poll_interval_seconds{dataset="assets"}': always(86_400),
        'tidemark_newest_age_seconds{dataset="candles",interval="m1"}': always(864_000),
      },
    ],
  },
  {
    alert: 'TidemarkListNeverPolled',
    fires: { 'tidemark_poll_interval_seconds{dataset="markets"}': always(300) },
    at: '40m',
    labels: { dataset: 'markets' },
    summary: 'The list markets, or one of its kind, has never been polled completely.',
    quiet: [
      {
        'tidemark_poll_interval_seconds{dataset="markets"}': always(300),
        'tidemark_newest_age_seconds{dataset="markets"}': '_x20 10+0x400',
      },
    ],
  },
  {
    alert: 'TidemarkHoles',
    fires: { [gap('failed')]: always(3600), [gap('blocked')]: always(0), [gap('not_asked')]: always(7200) },
    at: '70m',
    labels: { dataset: 'candles', interval: 'm1' },
    summary: '1h 0m 0s of candles m1 are missing, and requests for them have failed.',
    quiet: [
      // A backfill; a market without trades; a failure that was resolved.
      { [gap('failed')]: always(0), [gap('not_asked')]: always(1e9) },
      { [gap('failed')]: always(0), [gap('awaits_second_answer')]: always(7200) },
      { [gap('failed')]: '0 0 3600+0x40 0+0x200' },
    ],
  },
  {
    alert: 'TidemarkBudgetUnused',
    fires: { ...budget(500, 60, 1e6), [used('refresh')]: always(40) },
    summary: 'Data is missing, and only 100 requests a minute of the budget are used.',
    quiet: [
      // The budget is used; the missing range waits for its second answer; the source has no limit.
      budget(500, 450, 1e6),
      { ...budget(500, 0, 0), [gap('awaits_second_answer')]: always(7200) },
      budget(0, 10, 1e6),
      // Requests are paused, those of a source are, or it bans: each is told by its own condition.
      ...['paused', 'source_paused', 'banned', 'source_away', 'no_worker', 'queue_away'].map((kind) => ({
        ...budget(500, 0, 1e6),
        [`tidemark_condition{kind="${kind}",level="waiting"}`]: always(1),
      })),
      // Refreshes only: each minute a range is missing briefly.
      { ...budget(500, 0, 0), [used('refresh')]: always(100), [gap('not_asked')]: '6000 0 '.repeat(100) },
    ],
  },
  {
    alert: 'TidemarkSourceDown',
    fires: { 'tidemark_condition{kind="source_refuses_key",level="bad"}': always(1) },
    labels: { kind: 'source_refuses_key' },
    summary:
      'A source has given no data for five minutes (source_refuses_key): `tidemark status` says which one and why.',
    quiet: [
      // It is back after two minutes; and it bans for an hour, which TidemarkRateLimited tells.
      { 'tidemark_condition{kind="source_away",level="bad"}': '0 1 1 1 1 0+0x60' },
      { 'tidemark_condition{kind="banned",level="waiting"}': always(1) },
    ],
  },
  {
    alert: 'TidemarkFailing',
    fires: { [request('ok')]: '0+60x400', [request('timeout')]: '0+20x400' },
    at: '30m',
    summary: '25% of the requests to the source fail.',
    quiet: [{ [request('ok')]: '0+97x400', [request('timeout')]: '0+3x400' }],
  },
  {
    alert: 'TidemarkRateLimited',
    fires: { [request('rate_limited')]: '0+1x400' },
    summary: 'The source rejects requests as too frequent: 30 times in a quarter of an hour.',
    quiet: [{ [request('rate_limited')]: '0 0 0 1 2 3+0x100' }],
  },
  {
    alert: 'TidemarkRowsRejected',
    fires: { 'tidemark_source_rejected_rows_total{endpoint="candles"}': '0 0 0 4+0x400' },
    labels: { endpoint: 'candles' },
    summary: 'Rows of candles were rejected, and are in quarantine.',
    quiet: [{ 'tidemark_source_rejected_rows_total{endpoint="candles"}': always(4) }],
  },
  {
    alert: 'TidemarkNotStored',
    fires: { 'tidemark_commit_failures_total{cause="database"}': '0+1x400' },
    labels: { cause: 'database' },
    summary: 'Answers cannot be stored; cause: database.',
    quiet: [{ 'tidemark_commit_failures_total{cause="database"}': '0 0 1+0x400' }],
  },
  {
    alert: 'TidemarkConnectionsExhausted',
    fires: { [`tidemark_database_waiting{${worker},pool="work"}`]: always(3) },
    labels: { instance: '10.0.0.1:9464', job: 'tidemark', pool: 'work' },
    summary: 'Queries of work at 10.0.0.1:9464 always wait for a connection.',
    quiet: [{ [`tidemark_database_waiting{${worker},pool="work"}`]: '9 0 '.repeat(50) }],
  },
  {
    alert: 'TidemarkDatabaseJobsFailing',
    fires: { 'tidemark_condition{kind="jobs_failing",level="waiting"}': '1x1000' },
    at: '4h',
    summary: "TimescaleDB's background jobs fail, and no scheduler does their work.",
    quiet: [
      // A failed run is followed by a successful one; and the scheduler does the work.
      { 'tidemark_condition{kind="jobs_failing",level="waiting"}': '1x200 0x1000' },
      { 'tidemark_condition{kind="jobs_failing",level="ok"}': '1x1000' },
    ],
  },
  {
    alert: 'TidemarkUpkeepBehind',
    fires: {
      tidemark_columnstore_chunks_due: '4x1000',
      tidemark_rollups_behind: '0x1000',
      'tidemark_budget_used_requests_per_minute{lane="backfill"}': '0x1000',
    },
    at: '7h',
    summary: 'Chunks have waited for the columnstore, or rollups for a refresh, for hours: 4.',
    // The points of a backfill are compressed after it has ended.
    quiet: [
      {
        tidemark_columnstore_chunks_due: '4x1000',
        tidemark_rollups_behind: '10x1000',
        'tidemark_budget_used_requests_per_minute{lane="backfill"}': '400x1000',
      },
    ],
  },
  {
    alert: 'TidemarkDiskFull',
    fires: {
      [disk('avail')]: always(5e9),
      [disk('size')]: always(1e11),
      [disk('readonly').replace('_bytes', '')]: always(0),
    },
    labels: { fstype: 'ext4', instance: 'host-metrics:9100', mountpoint: '/' },
    summary: 'Only 5% of a disk is left at host-metrics:9100.',
    quiet: [
      { [disk('avail')]: always(5e10), [disk('size')]: always(1e11) },
      { tidemark_disk_free_bytes: always(5e10), tidemark_disk_size_bytes: always(1e11) },
      // One in memory and a read-only medium are always full.
      {
        'node_filesystem_avail_bytes{fstype="tmpfs"}': always(1),
        'node_filesystem_size_bytes{fstype="tmpfs"}': always(1000),
        'node_filesystem_avail_bytes{fstype="iso9660"}': always(0),
        'node_filesystem_size_bytes{fstype="iso9660"}': always(1000),
        'node_filesystem_readonly{fstype="iso9660"}': always(1),
      },
    ],
  },
  {
    alert: 'TidemarkDiskFull',
    fires: {
      [`tidemark_disk_free_bytes{${worker}}`]: always(9e8),
      [`tidemark_disk_size_bytes{${worker}}`]: always(1e10),
    },
    labels: { instance: '10.0.0.1:9464', job: 'tidemark' },
    summary: 'Only 9% of a disk is left at 10.0.0.1:9464.',
    quiet: [],
  },
  {
    alert: 'TidemarkDiskFillsUp',
    // 10 GB an hour, of which 500 are left.
    fires: { [disk('avail')]: '560000000000-83333333x1000' },
    at: '6h',
    labels: { fstype: 'ext4', instance: 'host-metrics:9100', mountpoint: '/' },
    summary: 'At this rate / at host-metrics:9100 is full within three days.',
    quiet: [{ [disk('avail')]: '560000000000-833333x1000' }],
  },
  {
    alert: 'TidemarkServiceFailing',
    fires: { [served('200')]: '0+90x400', [served('503')]: '0+10x400' },
    at: '30m',
    summary: 'The service answers 10% of the requests with an internal error.',
    // Invalid requests of clients are not its fault.
    quiet: [{ [served('200')]: '0+90x400', [served('404')]: '0+90x400', [served('503')]: '0+1x400' }],
  },
];
