import { describe, expect, it } from 'vitest';
import { minuteMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import { conditionKinds, conditionsWithBeginning, type Headline } from '../../planning/conditions.ts';
import type { RecentAnswers } from '../../planning/eta.ts';
import {
  databaseAway,
  holdOf,
  type SourceQueue,
  type SourceState,
  type StateFacts,
  stateOf,
} from '../../planning/headline.ts';
import type { SourceOutage } from '../../planning/source-outage.ts';

const nowMs = Date.UTC(2026, 0, 31, 6);

const answering: SourceState = {
  ...{ source: defaultSource, left: 0, asked: 0, behind: 0, isFollowed: true, lastMinute: 2 },
  ...{ outage: null, unanswered: null, refusal: null, refusedUntilMs: null, isUsedUp: false, pause: null },
};
const running: SourceQueue = { source: defaultSource, workers: 2, pausedMs: 300, perMinute: 200, lowered: null };

function facts(given: Partial<StateFacts> = {}): StateFacts {
  return {
    nowMs,
    readAtMs: nowMs,
    tracked: { requests: 9000, wantedMs: 100, coveredMs: 27.28 },
    pause: null,
    unapplied: [],
    invalidList: null,
    untold: [],
    series: 310,
    left: 0,
    behind: 0,
    arriving: 10,
    recent: [],
    failed: { ranges: 0, first: null, causes: 0 },
    beyondDepth: { ranges: 0, first: null, causes: 0 },
    blocked: { ranges: 0, first: null, causes: 0 },
    awaiting: { ranges: 0, stale: 0, nextMs: null },
    waiting: [],
    failingJobs: [],
    rejected: { rows: 0, series: 0, reason: null },
    sources: [answering],
    queue: { schedulers: 1, sources: [running] },
    ...given,
  };
}

/** Ten minutes of answers in parts of five seconds, as the ledger gives them. */
function steadily(perMinute: number, refreshes = 0): RecentAnswers[] {
  return Array.from({ length: 120 }, (_, place) => ({
    source: defaultSource,
    endMs: nowMs - (119 - place) * 5000,
    answers: perMinute / 12,
    refreshes: refreshes / 12,
  }));
}

const outage: SourceOutage = {
  source: defaultSource,
  kind: 'unreachable',
  sinceMs: nowMs - 10 * minuteMs,
  failingSinceMs: nowMs - 9 * minuteMs,
  lastTriedMs: nowMs - minuteMs,
  message: 'connect ECONNREFUSED \u001b[2J127.0.0.1:1',
};
const refusedUntilMs = nowMs + 30_000;
const paused = { schedulers: 1, sources: [{ ...running, pausedMs: 30_004 }] };
const due = {
  left: 7000,
  behind: 6990,
  recent: steadily(200),
  sources: [{ ...answering, left: 7000, asked: 7000, behind: 6990, lastMinute: 120 }],
};
const still = {
  ...{ ...due, recent: [] },
  sources: [{ ...answering, left: 7000, asked: 7000, behind: 6990, lastMinute: 0 }],
};

const states: [string, Headline['kind'], Headline['level'], string, Partial<StateFacts>][] = [
  ['nothing missing', 'healthy', 'ok', 'up to date: 310 series', {}],
  [
    ...(['a list that cannot be read', 'watch_list_waits', 'waiting'] as const),
    'a part of the watch list waits: a.yaml:1:2: left out, and 2 more',
    { unapplied: ['a.yaml:1:2: left out', '', ''] },
  ],
  [
    ...(['a list with a mistake', 'watch_list_invalid', 'bad'] as const),
    'the watch list is invalid since 2026-01-31 05:59Z: a.yaml:1:2: interval is missing; the last applied state stays',
    {
      unapplied: ['a.yaml:1:2: left out'],
      invalidList: { sinceMs: nowMs - minuteMs, why: 'a.yaml:1:2: interval \u001b[2Jis missing' },
    },
  ],
  [
    ...(['a target that was not told', 'notify_fails', 'waiting'] as const),
    'a target of notify was not told: slack: answered 404, and 1 more',
    { untold: ['slack: answered 404', 'mail: SMTP_URL is not set'] },
  ],
  ['no series', 'nothing_tracked', 'waiting', 'nothing is tracked', { series: 0, arriving: 0, sources: [] }],
  [
    'a backlog',
    'catching_up',
    'working',
    'catching up: 7,000 of 9,000 requests to go, about 35 min, 27.28 % covered',
    due,
  ],
  [
    'a backlog of which nothing is requested',
    'catching_up',
    'waiting',
    '7,000 of 9,000 requests to go, 27.28 % covered, no request in the last minute',
    { ...still, queue: { schedulers: 1, sources: [{ ...running, pausedMs: 0 }] } },
  ],
  [
    'workers that cannot store an answer',
    'workers_pause',
    'bad',
    '7,000 of 9,000 requests to go, 27.28 % covered, no request in the last minute: the workers pause, and their log says why',
    { ...still, queue: { schedulers: 1, sources: [{ ...running, pausedMs: 900 }] } },
  ],
  [
    'a full budget',
    'limited_by_budget',
    'working',
    'catching up, limited by the budget of 200 requests a minute: 7,000 of 9,000 requests to go, about 35 min, 27.28 % covered',
    { ...due, sources: [{ ...answering, left: 7000, asked: 7000, behind: 6990, lastMinute: 199 }] },
  ],
  [
    'a dead source',
    'source_away',
    'bad',
    'the source is unreachable since 2026-01-31 05:50Z: connect ECONNREFUSED 127.0.0.1:1; tried again within 10 s',
    { ...due, sources: [{ ...answering, outage }], queue: paused },
  ],
  [
    'a service message',
    'source_notice',
    'bad',
    'the source answers with a service message since 2026-01-31 05:50Z: retired; retry at 2026-01-31 06:00:30Z',
    {
      sources: [{ ...answering, refusedUntilMs, outage: { ...outage, kind: 'notice', message: 'retired' } }],
      queue: paused,
    },
  ],
  [
    'a refused key',
    'source_refuses_key',
    'bad',
    'the source refuses the API key or its plan since 2026-01-31 05:50Z: status 401; retry at 2026-01-31 06:00:30Z',
    {
      sources: [{ ...answering, refusedUntilMs, outage: { ...outage, kind: 'unauthorized', message: 'status 401' } }],
      queue: paused,
    },
  ],
  [
    'a ban',
    'banned',
    'waiting',
    'the source accepts no request until 2026-01-31 06:00:30Z: status 429',
    { ...due, sources: [{ ...answering, refusal: { timeMs: nowMs, message: 'status 429' } }], queue: paused },
  ],
  [
    'a pause',
    'paused',
    'waiting',
    'requests are paused since 2026-01-31 05:00Z by ann at 127.0.0.1',
    // Events has the same second.
    { ...due, pause: { sinceMs: nowMs - 60 * minuteMs + 700, by: 'ann at 127.0.0.1' } },
  ],
  [
    'a paused source',
    'source_paused',
    'waiting',
    'requests to kraken are paused since 2026-01-31 05:00Z by ann at 127.0.0.1',
    {
      ...due,
      sources: [
        {
          ...{ ...answering, source: 'kraken', outage: { ...outage, source: 'kraken' } },
          pause: { sinceMs: nowMs - 60 * minuteMs, by: 'ann at 127.0.0.1' },
        },
      ],
      queue: { schedulers: 1, sources: [{ ...running, source: 'kraken' }] },
    },
  ],
  [
    'a lowered budget that limits',
    'limited_by_budget',
    'working',
    'catching up, limited by the budget of 120 requests a minute ' +
      '(lowered since 2026-01-31 05:00Z by ann): 7,000 of 9,000 requests to go, ' +
      'about 1 h, 27.28 % covered',
    {
      ...due,
      recent: steadily(120),
      queue: {
        schedulers: 1,
        sources: [
          { ...{ ...running, perMinute: 120 }, lowered: { perMinute: 120, sinceMs: nowMs - 60 * minuteMs, by: 'ann' } },
        ],
      },
    },
  ],
  [
    'used credits',
    'limited_by_budget',
    'waiting',
    'what coincap allows in its period is used up',
    {
      sources: [{ ...answering, source: 'coincap', isUsedUp: true }],
      queue: { schedulers: 1, sources: [{ ...running, source: 'coincap' }] },
    },
  ],
  [
    'no worker',
    'no_worker',
    'bad',
    'no worker is connected: 7,000 of 9,000 requests to go',
    { ...due, queue: { schedulers: 1, sources: [{ ...running, workers: 0 }] } },
  ],
  [
    'no scheduler',
    'no_scheduler',
    'bad',
    'no scheduler is connected: 7,000 of 9,000 requests to go',
    { ...due, queue: { schedulers: 0, sources: [running] } },
  ],
  [
    'failed ranges',
    'ranges_failed',
    'bad',
    '3 ranges failed: status 500',
    { failed: { ranges: 3, first: 'status 500', causes: 1 } },
  ],
  [
    'failed ranges of several causes',
    'ranges_failed',
    'bad',
    '3 ranges failed, such as: status 500',
    { failed: { ranges: 3, first: 'status 500', causes: 2 } },
  ],
  [
    'ranges that the source no longer keeps',
    'ranges_beyond_depth',
    'bad',
    '2 ranges are beyond the depth of their source: kraken keeps the newest 720 periods',
    { beyondDepth: { ranges: 2, first: 'kraken keeps the newest 720 periods', causes: 1 } },
  ],
  [
    'rejected rows',
    'rows_rejected',
    'bad',
    '12 rejected rows without a point',
    { rejected: { rows: 12, series: 1, reason: null } },
  ],
  [
    'an empty range',
    'awaiting_second_answer',
    'waiting',
    '2 ranges came back empty; asked again at 2026-01-31 07:00Z to be sure',
    { awaiting: { ranges: 2, stale: 0, nextMs: nowMs + 60 * minuteMs } },
  ],
  [
    'stale answers alone',
    'awaiting_second_answer',
    'waiting',
    '1 range came back stale; asked again',
    { awaiting: { ranges: 1, stale: 1, nextMs: null } },
  ],
  [
    'stale and empty answers',
    'awaiting_second_answer',
    'waiting',
    '3 ranges came back empty or stale; asked again to be sure',
    { awaiting: { ranges: 3, stale: 1, nextMs: null } },
  ],
  [
    'ranges that are asked again later',
    'catching_up',
    'waiting',
    '1 range is asked again at 2026-01-31 07:00Z (failed), 27.28 % covered',
    { waiting: [{ cause: 'failed', retryAtMs: nowMs + 60 * minuteMs }] },
  ],
  [
    'a lost queue',
    'queue_away',
    'bad',
    'the queue does not answer: Redis at db: connect ECONNREFUSED; nothing is requested',
    { ...due, queue: { away: 'Redis at db: connect ECONNREFUSED' } },
  ],
];

describe('the headline', () => {
  it.each(states)('states %s', (_, kind, level, text, given) => {
    expect(stateOf(facts(given)).headline).toMatchObject({ kind, level, text });
    if (conditionsWithBeginning.has(kind)) expect(text).toMatch(/ since \d{4}-/);
  });

  it('has a sentence for each kind of condition', () => {
    expect(databaseAway('gone')).toMatchObject({ level: 'bad', text: 'the database does not answer: gone' });
    const known = new Set([...states.map(([, kind]) => kind), 'database_away', 'jobs_failing']);
    expect([...known].sort()).toEqual([...conditionKinds].sort());
  });

  it('is the worst of several, and the others follow', () => {
    const { headline, also } = stateOf(
      facts({
        ...due,
        rejected: { rows: 1, series: 1, reason: null },
        awaiting: { ranges: 1, stale: 0, nextMs: null },
        failed: { ranges: 1, first: null, causes: 1 },
      }),
    );
    expect([headline, ...also].map(({ kind }) => kind)).toEqual([
      'ranges_failed',
      'rows_rejected',
      'awaiting_second_answer',
      'catching_up',
    ]);
  });

  it('puts what stops requests before what is missing, and that before jobs whose work is done', () => {
    const banned = { ...answering, refusal: { timeMs: nowMs, message: 'status 429' } };
    const trouble = {
      failed: { ranges: 3, first: 'status 500', causes: 1 },
      failingJobs: [{ kind: 'policy_compression', of: null, message: 'disk full' }],
    };
    const { headline, also } = stateOf(facts({ ...due, ...trouble, sources: [banned], queue: paused }));
    expect([headline, ...also].map(({ kind, level }) => [kind, level])).toEqual([
      ['banned', 'waiting'],
      ['ranges_failed', 'bad'],
      ['jobs_failing', 'ok'],
    ]);
    const usedUp = { ...answering, isUsedUp: true };
    expect(stateOf(facts({ ...trouble, sources: [usedUp] })).headline.kind).toBe('limited_by_budget');
    const alone = stateOf(facts({ ...trouble, queue: { schedulers: 0, sources: [running] } }));
    expect(alone.also.at(-1)).toMatchObject({ kind: 'jobs_failing', level: 'waiting' });
  });

  it('is healthy where jobs fail whose work the scheduler does, and says so', () => {
    const failingJobs = [{ kind: 'policy_compression', of: null, message: 'disk full' }];
    const { headline, also } = stateOf(facts({ failingJobs }));
    expect(headline).toMatchObject({ kind: 'healthy', level: 'ok' });
    expect(also).toMatchObject([
      { level: 'ok', text: '1 TimescaleDB job fails (the scheduler does its work): disk full' },
    ]);
    expect(stateOf(facts({ ...due, failingJobs })).also.at(-1)).toMatchObject({ kind: 'jobs_failing' });
  });

  it('calls for a worker of a source only where that source has something to do', () => {
    const idle = { ...answering, source: 'okx' };
    const of = (one: SourceState) => stateOf(facts({ ...due, sources: [...due.sources, one] })).headline;
    expect(of({ ...idle, isFollowed: false }).kind).toBe('catching_up');
    expect(of(idle).text).toBe('no worker is connected for okx: new periods are not fetched');
    expect(of({ ...idle, left: 2 }).text).toBe('no worker is connected for okx: 2 requests to go');
  });

  it('names the source whose budget limits, where there are several', () => {
    const full = { ...answering, left: 7000, asked: 7000, lastMinute: 199 };
    const okx = { ...answering, source: 'okx' };
    const queue = { schedulers: 1, sources: [running, { ...running, source: 'okx' }] };
    const of = (sources: SourceState[]) => stateOf(facts({ ...due, sources, queue })).headline.text;
    expect(of([full, okx])).toContain('limited by the budget of 200 requests a minute of the default source: ');
    expect(of([answering, { ...full, source: 'okx' }])).toContain('200 requests a minute of okx: ');
    expect(of([full])).toContain('limited by the budget of 200 requests a minute: ');
  });

  it('lets a source without a worker wait for one, where the queue says so', () => {
    const idle = { schedulers: 1, sources: [{ ...running, workers: 0 }] };
    const okx = { ...answering, source: 'okx' };
    const hold = (one: SourceState, given: Partial<StateFacts>) => holdOf(one, facts({ ...due, ...given }));
    expect(hold(answering, { queue: idle })).toBe('a worker is connected');
    expect(hold(answering, { queue: idle, sources: [answering, okx] })).toBe(
      'a worker is connected for the default source',
    );
    expect(hold(okx, { queue: idle, sources: [okx] })).toBe('a worker is connected for okx');
    expect(hold({ ...answering, outage }, { queue: idle })).toBe('the source answers');
    expect(hold(answering, { queue: { away: 'gone' } })).toBeNull();
    expect(hold(answering, {})).toBeNull();
  });

  it('takes the spacing of a small budget for no ban', () => {
    const slow = { schedulers: 1, sources: [{ ...running, perMinute: 6, pausedMs: 9900 }] };
    const refused = { ...answering, refusal: { timeMs: nowMs, message: 'status 429' } };
    expect(stateOf(facts({ sources: [refused], queue: slow })).headline.kind).toBe('healthy');
  });
});

it('names no budget of a source that was paused at full rate', () => {
  const queue = { schedulers: 1, sources: [running, { ...running, source: 'okx', pausedMs: 0 }] };
  const full = { ...answering, left: 7000, asked: 7000, behind: 6990, lastMinute: 199 };
  const okx = { ...full, source: 'okx', lastMinute: 20 };
  const of = (one: Partial<SourceState>, other: SourceState) => {
    const { headline, also } = stateOf(facts({ ...due, sources: [{ ...full, ...one }, other], queue }));
    return [headline, ...also].map(({ kind, level }) => `${kind} ${level}`);
  };
  const pause = { sinceMs: nowMs - 1000, by: null };
  expect(of({}, okx)).toEqual(['limited_by_budget working']);
  expect(of({ pause }, okx)).toEqual(['source_paused waiting', 'catching_up working']);
  expect(of({ pause }, { ...okx, lastMinute: 0 })).toEqual(['source_paused waiting', 'catching_up waiting']);
});

describe('the ETA', () => {
  const eta = (given: Partial<StateFacts>) => stateOf(facts({ ...due, arriving: 0, ...given })).etaMs;

  it('counts a window for each period that closes, but no more than refreshes fetch', () => {
    expect(eta({ arriving: 60, recent: steadily(200, 60) })).toBeCloseTo(50 * minuteMs);
    expect(eta({ arriving: 1000, recent: steadily(200, 60) })).toBeCloseTo(50 * minuteMs);
    expect(eta({ arriving: 1000, recent: steadily(200, 200) })).toBeNull();
  });

  it('assumes no higher rate than the budget', () => {
    expect(eta({ recent: steadily(1000) })).toBe(35 * minuteMs);
  });

  it('is that of the source that ends last, each at its own rate', () => {
    const queue = { schedulers: 1, sources: [running, { ...running, source: 'okx', perMinute: 12 }] };
    const okx = { ...answering, source: 'okx' };
    const both = (asked: number) => [...due.sources, { ...okx, left: asked, asked, behind: asked }];
    const recent = steadily(200).flatMap((one) => [one, { ...one, source: 'okx', answers: 1 }]);
    expect(eta({ recent, queue, sources: both(0) })).toBe(35 * minuteMs);
    expect(eta({ recent, queue, sources: both(600) })).toBe(50 * minuteMs);
    // One that has not answered yet is the last if its budget says so.
    expect(eta({ recent: steadily(200), queue, sources: both(2) })).toBe(35 * minuteMs);
    expect(eta({ recent: steadily(200), queue, sources: both(600) })).toBeNull();
  });

  it('does not wait for a source of which only periods are missing that closed just now', () => {
    const queue = { schedulers: 1, sources: [running, { ...running, source: 'okx' }] };
    const recent = steadily(200).flatMap((one) => [one, { ...one, source: 'okx', answers: 1, refreshes: 1 }]);
    const okx = { ...answering, source: 'okx', left: 12, asked: 12 };
    expect(eta({ arriving: 12, recent, queue, sources: [...due.sources, okx] })).toBe(35 * minuteMs);
    expect(eta({ arriving: 12, recent, queue, sources: [...due.sources, { ...okx, behind: 12 }] })).toBeNull();
  });

  it('is that of the time when the answers were read', () => {
    const readAtMs = nowMs;
    expect(eta({ readAtMs, nowMs: nowMs + 5000 })).toBe(eta({ readAtMs }));
  });

  it('excludes the time in which the source was away', () => {
    const before = steadily(200).slice(0, 95);
    const after = steadily(200).slice(-1);
    expect(eta({ recent: [...before, ...after] })).toBeCloseTo(35 * minuteMs);
  });

  it.each<[string, Partial<StateFacts>]>([
    ['the last answer is old', { recent: steadily(200).slice(0, 108) }],
    ['the source is away', { sources: [{ ...answering, outage }] }],
    ['the source has banned', { sources: [{ ...answering, refusal: { timeMs: 0, message: '' } }], queue: paused }],
    ['somebody has paused', { pause: { sinceMs: 0, by: null } }],
    ['the queue is away', { queue: { away: '' } }],
    ['all that is left waits', { left: 0, behind: 0, waiting: [{ cause: 'failed', retryAtMs: nowMs + 1 }] }],
  ])('is unknown while %s', (_, given) => {
    expect(eta(given)).toBeNull();
  });
});
