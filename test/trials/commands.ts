/** Everything that can happen to the store, as commands of a model run. Each is possible at any time. */

import fc from 'fast-check';
import { systemClock } from '../../clock.ts';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import { deferWindow } from '../../store/commit/deferred-windows.ts';
import { blockSeries, trackSeries, untrackSeries } from '../../store/series/series.ts';
import { applyRetention } from '../../store/upkeep/drop-old.ts';
import { refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import { listRetentions, writeRetention } from '../../store/upkeep/retention.ts';
import { replayed } from '../parts/seeded.ts';
import { choose, commitAndCrash, commitGroup, commitTogether, crash, from, pick, picks } from './commit-command.ts';
import { checkInvariants } from './invariants.ts';
import { plannedAll } from './planned.ts';
import { probe, verify } from './read-commands.ts';
import type { SeriesModel } from './series-model.ts';
import { type Real, seriesCount, type World, windowOf } from './world.ts';

/** A command that does its work in the model and in the store, and then compares them. */
function command(
  name: string,
  given: unknown,
  work: (world: World, real: Real) => Promise<void> | void,
): fc.AsyncCommand<World, Real> {
  return {
    check: () => true,
    run: async (world, real) => {
      await work(world, real);
      await checkInvariants(real.database, world.models, world.nowMs);
      // No two commands happen at the same time.
      world.nowMs += 1000;
    },
    toString: () => `${name}(${JSON.stringify(given)})`,
  };
}

function commandOf<Given>(
  name: string,
  given: fc.Arbitrary<Given>,
  work: (given: Given, world: World, real: Real) => Promise<void> | void,
): fc.Arbitrary<fc.AsyncCommand<World, Real>> {
  return given.map((value) => command(name, value, (world, real) => work(value, world, real)));
}

const series = fc.nat({ max: seriesCount - 1 });
const place = fc.record({ series, from, periods: fc.integer({ min: 1, max: 12 }), planned: fc.boolean() });
const modelOf = (world: World, place: number) => world.models[place] as SeriesModel;

/** Tracks a range. A tracked series is widened. */
const track = commandOf(
  'track',
  fc.record({ place, isOpen: fc.boolean() }),
  async ({ place, isOpen }, world, { database }) => {
    const model = modelOf(world, place.series);
    const { startMs, endMs } = windowOf(world, model, place.from, place.periods);
    const before = model.tracked;
    await trackSeries(database, model.truth.series, startMs + 1, isOpen ? null : endMs - 1);
    const end = isOpen ? null : endMs;
    model.tracked = {
      startMs: Math.min(startMs, before?.startMs ?? startMs),
      endMs: end === null || before?.endMs === null ? null : Math.max(end, before?.endMs ?? end),
    };
    model.blockedUntilMs = 0;
  },
);

const untrack = commandOf('untrack', series, async (place, world, { database }) => {
  const model = modelOf(world, place);
  await untrackSeries(database, model.seriesId, world.nowMs);
  model.tracked = null;
});

const block = commandOf('block', series, async (place, world, { database }) => {
  const model = modelOf(world, place);
  model.blockedUntilMs = world.nowMs + hourMs;
  await blockSeries(database, {
    seriesId: model.seriesId,
    source: defaultSource,
    kind: 'not_found',
    message: 'x not found',
    untilMs: model.blockedUntilMs,
  });
});

const wait = commandOf('wait', fc.constantFrom(1, 11, 45, 61, 61, 180, 1560), (minutes, world) => {
  world.nowMs += minutes * minuteMs;
});

/** A window that a planning pass queues is claimed until it is committed, fails or is lost with the queue. */
const plan = commandOf(
  'plan',
  fc.record({ total: fc.integer({ min: 1, max: 12 }), cursor: fc.nat({ max: 1000 }) }),
  async ({ total, cursor }, world, { database }) => {
    const slots = { total, refresh: Math.ceil(total / 2) };
    const { windows } = (await plannedAll(database, world.models, world.nowMs, { slots, cursor })).plan;
    for (const { seriesId, startMs, endMs } of windows) {
      const model = world.models.find((one) => one.seriesId === seriesId);
      model?.claimed.push({ startMs, endMs });
    }
  },
);

const loseQueue = commandOf('lose queue', fc.constant(null), (_, world) => {
  for (const model of world.models) model.claimed = [];
});

const fail = commandOf('fail', place, async (picked, world, { database }) => {
  const { model, window } = choose(world, picked);
  await deferWindow(database.pool, {
    seriesId: model.seriesId,
    window,
    source: defaultSource,
    reason: 'failed',
    message: 'status 500',
    attempts: 5,
    nowMs: world.nowMs,
    retryAtMs: world.nowMs + 10 * minuteMs,
  });
  model.wasPutAside();
});

const revise = commandOf(
  'revise',
  fc.record({ place, how: fc.constantFrom('value' as const, 'value', 'zeros') }),
  ({ place, how }, world) => {
    const model = modelOf(world, place.series);
    const window = windowOf(world, model, place.from, Math.min(3, place.periods));
    for (const timeMs of model.periodsOf(window)) model.truth.revise(timeMs, how);
  },
);

const retain = commandOf(
  'retain',
  fc.record({
    dataset: fc.constantFrom('candles' as const, 'asset_history'),
    age: fc.constantFrom('1h', '30h', '40d'),
  }),
  async ({ dataset, age }, world, { database }) => {
    const { nowMs } = world;
    await writeRetention(database.pool, dataset, age);
    const [retention] = await listRetentions(database, nowMs);
    await applyRetention(database, { clock: systemClock, nowMs });
    await writeRetention(database.pool, dataset, null);
    for (const model of world.models) {
      if (model.truth.series.dataset === dataset) model.droppedBefore(retention?.cutMs ?? Number.NaN);
    }
  },
);

const compare = commandOf('verify', pick, verify);
const probing = commandOf(
  'probe',
  fc.record({
    series: fc.constantFrom(0, 1, 3),
    daysAgo: fc.integer({ min: 2, max: 60 }),
    days: fc.integer({ min: 2, max: 8 }),
    lacking: fc.oneof(fc.constant(8), fc.nat({ max: 8 })),
  }),
  probe,
);
const commit = commandOf('commit', picks, commitGroup);
const together = commandOf('together', fc.array(picks, { minLength: 2, maxLength: 3 }), commitTogether);
const cutOff = commandOf('crash', fc.record({ picks, crash }), ({ picks, crash }, world, real) =>
  commitAndCrash(picks, crash, world, real),
);
/** The same window with the same answer, after the time that confirms an empty answer. */
const twice = commandOf('twice', pick, async (picked, world, real) => {
  const again = { ...picked, planned: false };
  await commitGroup([again], world, real);
  // The second answer may revise the points that the first one covered.
  await checkInvariants(real.database, world.models, world.nowMs);
  world.nowMs += 61 * minuteMs;
  await commitGroup([again], world, real);
});

const sound = {
  planned: false,
  beside: false,
  lane: 'backfill' as const,
  answer: {
    kind: 'whole' as const,
    rows: 8,
    keeps: 'oldest' as const,
    oneBroken: false,
    brokenTells: false,
    untidy: false,
    clock: 'right' as const,
    old: false,
  },
};
const dense = fc.constantFrom(0, 2, 3);

/** Adjacent windows, each answer with one row fewer than the one before. */
const shrinking = commandOf(
  'shrinking cap',
  fc.record({ series: dense, from: fc.nat({ max: 30 }), keeps: fc.constantFrom('oldest' as const, 'newest') }),
  async ({ keeps, ...at }, world, real) => {
    for (const place of [0, 1, 2, 3]) {
      const answer = { ...sound.answer, kind: 'cut' as const, rows: 8 - place, keeps };
      await commitGroup([{ ...sound, ...at, from: at.from + 8 * place, periods: 8, answer }], world, real);
      await checkInvariants(real.database, world.models, world.nowMs);
      world.nowMs += 1000;
    }
  },
);

/** Two empty answers that agree, and then points in the middle of their range. */
const refuted = commandOf(
  'refuted emptiness',
  fc.record({ series: dense, from: fc.nat({ max: 30 }), beside: fc.boolean() }),
  async ({ beside, ...at }, world, real) => {
    const answer = { ...sound.answer, kind: 'empty' as const };
    for (const _ of [1, 2]) {
      await commitGroup([{ ...sound, ...at, periods: 8, answer }], world, real);
      await checkInvariants(real.database, world.models, world.nowMs);
      world.nowMs += 61 * minuteMs;
    }
    await commitGroup([{ ...sound, ...at, from: at.from + 3, periods: 2, beside }], world, real);
  },
);

/** Rolls up the ended days. */
const rollUp = commandOf('roll up', fc.constant({}), async (_, world, real) => {
  await refreshRollups(real.database, { clock: systemClock, nowMs: world.nowMs });
});

export const allCommands = fc.commands(
  [
    ...[commit, commit, commit, commit, commit, plan, plan, twice, twice, compare, probing, shrinking, refuted],
    ...[
      together,
      cutOff,
      fail,
      revise,
      revise,
      rollUp,
      rollUp,
      wait,
      wait,
      wait,
      track,
      untrack,
      block,
      loseQueue,
      retain,
    ],
  ],
  { maxCommands: 30, size: 'max', ...replayed },
);
