/**
 * The documents of `--json`, a schema each. Commands import only their types: a run does not load the schemas.
 * docs/json/ is made from them by `npm run docs`.
 */

import { z } from 'zod';
import { type DatasetName, datasetNames, datasets } from '../../model/datasets/index.ts';
import { backfillKinds, backfillStates, byLane, laneNames } from '../../model/lanes.ts';
import { listNames as polledLists } from '../../model/lists/index.ts';
import { marketKinds } from '../../model/market.ts';
import { reasonNames, shownReasons } from '../../model/reasons.ts';
import type { SeriesJson } from '../../model/series.ts';
import { storedDatasets, storedWords } from '../../model/stored-datasets.ts';
import { events } from '../../notify/rules.ts';
import { conditionKinds, levels, listNames } from '../../planning/conditions.ts';
import { sourceTrouble } from '../../planning/source-outage.ts';
import { changeKinds } from '../../planning/watch-list-changes.ts';
import { targetKinds, toldLevels } from '../../watch-list/watch-list.ts';

/** ISO 8601 in UTC. */
const time = z.iso.datetime().meta({ id: 'time' });
const timeOrNull = time.nullable();
const count = z.int().min(0);
const amount = z.number().min(0);
/** A budget of 0 has no limit. */
const perMinute = amount;
const text = z.string();
const textOrNull = text.nullable();
/** Exact values by column; null: an optional one that is absent. */
const values = z
  .record(
    text,
    z
      .string()
      .regex(/^-?\d+(?:\.\d+)?$/)
      .nullable(),
  )
  .meta({ id: 'values' });

type WithSeries<Shape extends z.ZodRawShape> = keyof Shape extends never
  ? SeriesJson
  : SeriesJson & z.output<z.ZodObject<Shape>>;

/** The datasets whose series have the same names and intervals. */
const alike = [...new Set(datasetNames.map(kindOf))].map((kind) =>
  datasetNames.filter((name) => kindOf(name) === kind),
);

function kindOf(name: DatasetName): string {
  return `${datasets[name].of} ${datasets[name].intervals}`;
}

/** The identity of a series among other fields. */
const ofSeries = <Shape extends z.ZodRawShape>(fields: Shape) => {
  const [first, ...others] = alike.map((names) => {
    const { of, intervals } = datasets[names[0] ?? 'candles'];
    const market = { exchange: text, baseId: text, quoteId: text, marketKind: z.enum(marketKinds) };
    const key = of === 'market' ? market : { assetId: text };
    return z.strictObject({ dataset: z.enum(names), ...key, interval: z.enum(intervals), ...fields });
  });
  if (first === undefined) throw new RangeError('no dataset');
  return z.discriminatedUnion('dataset', [first, ...others]) as unknown as z.ZodType<
    WithSeries<Shape>,
    WithSeries<Shape>
  >;
};
const series = ofSeries<Record<never, never>>({}).meta({ id: 'series' });
const seriesId = z.int().min(1);
/** A null end: open-ended. */
const span = z.strictObject({ from: time, to: timeOrNull });

const list = { list: z.enum(polledLists), asset: textOrNull };
const datasetName = z.enum(Object.values(storedWords));
const eachLane = <Field extends z.ZodType>(field: Field) => byLane(laneNames, () => field);
const gapReason = z.enum(shownReasons);

const sourceOutage = z
  .strictObject({ since: time, lastTried: time, kind: z.enum(sourceTrouble), message: text, retryAt: timeOrNull })
  .nullable();

/** Of each source that is away. */
const sourceOutages = z.array(z.strictObject({ source: text, ...sourceOutage.unwrap().shape }));

const headline = z
  .strictObject({
    kind: z.enum(conditionKinds),
    level: z.enum(levels),
    text,
    source: textOrNull.describe('the source that it is about; null: it is about the whole'),
    list: z.enum(listNames).nullable(),
    command: textOrNull,
  })
  .meta({ id: 'headline' });

/** When a user ordered it, and who; null: a command. */
const order = z.strictObject({ since: timeOrNull, by: textOrNull });
const lowered = z.strictObject({ perMinute, ...order.shape });

const plan = z
  .strictObject({
    requests: count,
    points: count,
    diskBytes: count,
    peakDiskBytes: count,
    seconds: amount.nullable(),
    laterRequests: count,
    laterUntil: timeOrNull,
    requestsPerMinute: perMinute,
    sources: z.array(
      z.strictObject({
        source: text,
        series: count,
        requests: count,
        cost: count,
        unit: z.enum(['request', 'weight', 'credit']),
        requestsPerMinute: perMinute,
        seconds: amount.nullable(),
        keepsPeriods: count.nullable(),
        lostSeconds: amount,
        neededPerMinute: amount,
        left: count.nullable(),
        freshCost: count.nullable(),
      }),
    ),
    datasets: z.array(
      z.strictObject({
        dataset: z.enum(datasetNames),
        series: count,
        missingSeconds: amount,
        requests: count,
        points: count,
        diskBytes: count,
      }),
    ),
    fresh: z.strictObject({
      refreshPerMinute: amount,
      rereadPerMinute: amount,
      pollPerMinute: amount,
      neededPerMinute: amount,
      wantedEverySeconds: amount.nullable(),
      everySeconds: amount.nullable(),
      everySecondsInBackfill: amount.nullable(),
      maxThatFit: count,
    }),
  })
  .describe('`plan --json` and `backfill --dry-run --json`: the cost of what is missing, and of staying fresh');

const reread = z.strictObject({ periods: count.optional(), days: count.optional(), hours: count.optional() });

const apply = z
  .strictObject({
    series: z.array(
      ofSeries({
        change: z.enum(changeKinds),
        seriesId: seriesId.nullable(),
        before: span.nullable(),
        after: span.nullable(),
      }),
    ),
    sources: z.array(ofSeries({ sources: z.array(z.strictObject({ source: text, symbol: text })) })),
    aliases: z.array(z.strictObject({ source: text, code: text, asset: text })).nullable(),
    lists: z.array(
      z.strictObject({
        change: z.enum(['added', 'changed', 'stopped']),
        ...list,
        beforeSeconds: amount.nullable(),
        afterSeconds: amount.nullable(),
      }),
    ),
    retention: z.array(
      z.strictObject({ dataset: datasetName, before: textOrNull, after: textOrNull, dropsBefore: timeOrNull }),
    ),
    readAgain: z.strictObject({ before: reread, after: reread }).nullable(),
    left: z.strictObject({ series: z.array(ofSeries({ seriesId })), lists: z.array(z.strictObject(list)) }),
    notes: z.array(z.strictObject({ line: count, column: count, message: text })),
    notKept: z.array(series),
    cut: z.array(z.strictObject({ dataset: datasetName, age: text, nothingBefore: time, series: z.array(series) })),
    cost: plan,
    applied: z.boolean(),
  })
  .describe('`apply --json`: the changes of the watch list and their cost');

const backfill = z
  .strictObject({
    requests: count,
    points: count,
    durationMs: amount,
    missing: count,
    awaiting: count,
    awaitingUntil: timeOrNull,
    accepted: count,
    rejected: count,
    windowsLeft: count,
    withoutPoints: z.array(text),
    rollups: z.enum(['current', 'stopped', 'left']),
    interrupted: z.boolean(),
  })
  .describe('`backfill --json`: the outcome');

const exported = z
  .strictObject({ points: count, series: count, gaps: count, until: timeOrNull, file: text, sidecar: textOrNull })
  .describe('`export --json`: the outcome');

const lake = z
  .strictObject({
    directory: text,
    written: count,
    rows: count,
    bytes: count,
    removed: count,
    files: count,
    allRows: count,
    refused: z.array(z.strictObject({ series, month: text, reason: text })),
  })
  .describe('`lake --json`: what was written and removed, what the lake has, and the months that are left out');

const gaps = z
  .strictObject({
    sourceOutage: sourceOutage.describe('the first of sourceOutages; null: every source answers'),
    sourceOutages,
    gaps: z.array(
      z.strictObject({
        seriesId,
        series,
        start: time,
        end: time,
        reason: gapReason,
        cause: z.enum(reasonNames),
        message: textOrNull,
        source: textOrNull,
        retryAt: timeOrNull,
      }),
    ),
    quarantined: z.array(z.strictObject({ seriesId, rows: count, reason: text })),
  })
  .describe('`gaps --json`: every gap with its reason, and rejected rows');

const imported = z
  .strictObject({
    files: count,
    fresh: count,
    unchanged: count,
    rewritten: count,
    provisional: count,
    revised: count,
    differing: count,
    refused: count,
    differences: z.array(z.strictObject({ series: text, time, stored: values, inFile: values.nullable() })),
    refusals: z.array(z.strictObject({ series: textOrNull, raw: text, reason: text })),
    notes: z.array(z.strictObject({ file: text, text })),
  })
  .describe(
    '`import --json`: the outcome, with the first hundred differences and rejected rows, and notes about files',
  );

const epochMs = z.int();
const keys = z
  .array(
    z.strictObject({
      id: z.int().min(1),
      state: z.enum(['pending', 'issued', 'revoked']),
      name: text,
      address: textOrNull,
      purpose: textOrNull,
      requestedAtMs: epochMs,
      issuedAtMs: epochMs.nullable(),
      revokedAtMs: epochMs.nullable(),
    }),
  )
  .describe('`keys list --json`: requested, issued and revoked keys');

const move = z
  .strictObject({ rows: count, tables: z.record(text, count), foreignTables: z.array(text) })
  .describe('`move --json`: moved rows, in all and by table');

const difference = z.strictObject({
  seriesId,
  series: series.optional(),
  time,
  kind: z.enum(['missing_here', 'missing_there', 'changed']),
  here: values.nullable(),
  there: values.nullable(),
});

const cost = z.array(
  z.strictObject({
    ...{ source: text, requests: count, cost: count, unit: z.enum(['request', 'weight', 'credit']) },
    ...{ requestsPerMinute: perMinute, budgetShare: amount.nullable(), seconds: amount.nullable() },
    ...{ queued: count, left: count.nullable() },
    paused: z.boolean().describe('the source gets none of the requests until it is resumed'),
    refusedUntil: timeOrNull.describe('the source accepts no request before'),
  }),
);

const recheck = {
  cost,
  unanswered: z.array(z.strictObject({ seriesId, start: time, end: time, message: textOrNull })),
  interrupted: z.boolean(),
};

const retry = z
  .strictObject({
    ranges: count,
    refusedSeries: count,
    dueBefore: count.describe('ranges that failed and were due already'),
    cost,
  })
  .describe('`retry --json`: what can be requested now, and what it costs of each source');

const repair = z
  .strictObject({
    asked: z.strictObject({ differences: count, empties: count }),
    answered: count,
    fresh: count,
    revised: count,
    removed: count,
    earlier: z.array(series),
    missing: z.array(z.strictObject({ series, source: text, points: count, isOpened: z.boolean() })),
    remaining: z.array(difference),
    ...recheck,
  })
  .describe('`repair --json`: the outcome, with the remaining differences');

const verify = z
  .strictObject({
    windows: count.describe('covered windows'),
    requested: count.describe('those of them that were drawn, or all'),
    compared: count,
    unbounded: count,
    points: count,
    rewritten: count,
    rejected: count,
    differing: count,
    differingPoints: count,
    differences: z.array(difference),
    ...recheck,
  })
  .describe('`verify --json`: the outcome, with every difference');

const quality = z
  .strictObject({
    series: z.array(
      z.strictObject({
        ...{ seriesId, series, points: count, covered: amount.nullable(), gaps: count },
        ...{ silences: count, longestSilenceSeconds: amount.nullable(), revisions: count, quarantined: count },
        inconsistent: count.nullable(),
        ...{ spikes: count.nullable(), largestSpike: amount.nullable(), largestSpikeTime: timeOrNull },
        ...{ unchanged: amount.nullable(), longestUnchanged: count.nullable(), longestUnchangedFrom: timeOrNull },
        ...{ zeroVolume: amount.nullable(), empty: amount.nullable() },
      }),
    ),
  })
  .describe('`quality --json`: what is odd in the points of each series; null: its dataset has no such value');

const queue = {
  ...{ waiting: count, active: count, delayed: count, workers: count },
  pausedMs: amount.describe('how long no request to the default source starts; sources have theirs'),
};

const error = z.strictObject({ code: text, message: text });

/** The database does not answer. */
const unreachable = z.strictObject({ time, headline, error });

const status = z
  .union([
    z.strictObject({
      time,
      headline,
      also: z.array(headline),
      windowsLeft: count,
      requests: count,
      wantedSeconds: amount,
      coveredSeconds: amount,
      etaSeconds: amount.nullable(),
      waiting: textOrNull,
      database: z.strictObject({ postgres: text, timescale: textOrNull, embedded: z.boolean() }),
      upkeep: z.strictObject({
        failingJobs: z.array(
          z.strictObject({
            jobId: count,
            kind: text,
            of: textOrNull,
            state: z.enum(['failed', 'overdue']),
            failures: count,
            lastRun: timeOrNull,
            message: text,
          }),
        ),
        rollupsBehind: count,
        chunksDue: count,
        locks: z.strictObject({ statements: count, holders: z.array(text) }),
      }),
      source: textOrNull,
      sourceOutage: sourceOutage.describe('of the first source that is away; null: every source answers'),
      sources: z
        .array(
          z.strictObject({
            name: text,
            lastMinute: count,
            outage: sourceOutage.describe('null: it answers'),
            paused: order.nullable().describe('by a user; null: nobody has paused it'),
            requestsPerMinute: perMinute.nullable().describe('null: the queue does not answer; so with the next three'),
            lowered: lowered.nullable(),
            workers: count.nullable(),
            pausedMs: amount.nullable().describe('how long no request to it starts'),
          }),
        )
        .describe('each source in use'),
      notice: z.strictObject({ time, message: text }).nullable(),
      rejected: z.strictObject({ rows: count, series: count, reason: textOrNull }),
      silences: count,
      budget: z
        .strictObject({ perMinute, lowered: lowered.nullable(), lastMinute: count, ...eachLane(count) })
        .nullable(),
      queue: z.strictObject({ backend: z.enum(['postgres', 'redis']), ...queue }).nullable(),
      error: error.nullable().describe('why the queue does not answer; null: it does'),
      rates: z.strictObject({ currencies: count, newest: timeOrNull, everySeconds: amount }),
      lists: z.array(
        z.strictObject({
          ...list,
          everySeconds: amount,
          newest: timeOrNull,
          newestAgeSeconds: z.number().nullable(),
          rows: count.nullable(),
          changed: count.nullable(),
          gone: count,
          pagesUnderWay: count.nullable(),
          problem: textOrNull,
          retryAt: timeOrNull,
          quarantined: count,
        }),
      ),
      retention: z.array(z.strictObject({ dataset: z.enum(storedDatasets), age: text, nothingBefore: time })),
      series: z.array(
        ofSeries({
          id: seriesId,
          tracked: span,
          wantedSeconds: amount,
          coveredSeconds: amount,
          missingSeconds: amount,
          awaitingSeconds: amount,
          failedSeconds: amount,
          beyondDepthSeconds: amount,
          confirmedEmptySeconds: amount,
          beforeBeginningSeconds: amount,
          quarantined: count,
          gaps: count,
          points: count,
          earliest: timeOrNull,
          newest: timeOrNull,
          revised: count,
          rereadAt: timeOrNull,
          newestAgeSeconds: z.number().nullable(),
          behindPeriods: count,
          silentSince: timeOrNull,
          readAt: timeOrNull,
          blocked: textOrNull,
        }),
      ),
    }),
    unreachable,
  ])
  .describe(
    '`status --json`: tracked, covered and missing ranges, the budget and the queue, or the error while a server ' +
      'is unreachable',
  );

const track = ofSeries({
  seriesId,
  created: z.boolean(),
  change: z.enum(['created', 'resumed', 'widened', 'unchanged']),
  tracked: span,
}).describe('`track candles --json` and `track history --json`: a line per series');

const trackList = z
  .strictObject({ ...list, everySeconds: amount, change: z.enum(['created', 'resumed', 'changed', 'unchanged']) })
  .describe('`track assets --json`, and so for the other lists: the tracked list');

const untrack = ofSeries({
  seriesId,
  deleted: z.strictObject({
    points: count,
    from: timeOrNull,
    to: timeOrNull,
    revisions: count,
    requests: count.describe('rows of the ledger'),
    rejected: count,
  }),
}).describe('`untrack --delete-data --json`: a line per series');

const sourceRefusals = z
  .strictObject({
    source: text,
    refusals: z.array(
      z.strictObject({
        time: timeOrNull,
        kind: text,
        status: count.nullable(),
        lane: z.enum(laneNames),
        series: textOrNull,
        from: timeOrNull,
        to: timeOrNull,
        message: text,
      }),
    ),
  })
  .describe('`sources refusals --json`: the last requests that a source refused, newest first');

const sources = z
  .strictObject({
    sources: z.array(
      z.strictObject({
        name: text,
        profile: text,
        url: textOrNull,
        proxy: textOrNull,
        isDefault: z.boolean(),
        series: count,
        requestsPerMinute: perMinute,
        lastMinute: count,
        limits: z.array(z.strictObject({ unit: text, amount, seconds: amount })),
        creditsUsed: count.nullable(),
        lastRequest: timeOrNull,
        problem: textOrNull,
        outage: sourceOutage,
        pausedSeconds: amount.nullable(),
        paused: order.nullable(),
        lowered: lowered.nullable(),
        workers: count.nullable().describe('null: the queue does not answer'),
      }),
    ),
  })
  .describe('`sources --json`: every source with its limits, its use and its state');

const markets = z
  .strictObject({
    source: text,
    asOf: timeOrNull,
    markets: z.array(
      z.strictObject({
        ...{ symbol: text, base: text, quote: text, marketKind: z.enum(marketKinds) },
        ...{ listed: timeOrNull, trading: z.boolean() },
        contract: z.strictObject({ size: text, asset: text }).nullable(),
      }),
    ),
  })
  .describe('`markets --json`: the markets of a source');

const told = { name: text, kind: z.enum(targetKinds), address: textOrNull };
const notify = z
  .strictObject({
    targets: z.array(
      z.strictObject({
        ...{ ...told, problem: textOrNull, level: z.enum(toldLevels) },
        ...{ afterSeconds: amount, everySeconds: amount.nullable() },
        told: z
          .strictObject({
            ...{ event: z.enum(events).nullable(), condition: z.enum(conditionKinds), level: z.enum(levels) },
            ...{ text, time },
          })
          .nullable(),
        waits: z.strictObject({ event: z.enum(events), text, time }).nullable(),
        failure: z.strictObject({ cause: text, since: time, time, attempts: count, isUntold: z.boolean() }).nullable(),
      }),
    ),
  })
  .describe('`notify --json`: who is told of the headline, what they were told, and what waits');

const notifyTest = z
  .strictObject({ targets: z.array(z.strictObject({ ...told, isSent: z.boolean(), cause: textOrNull })) })
  .describe('`notify --test --json`: which targets took the test message');

const backfillLine = z.strictObject({
  id: count,
  kind: z.enum(backfillKinds),
  state: z.enum(backfillStates),
  asked: time,
  by: text,
  series: count,
  names: z.array(text),
  from: timeOrNull,
  to: timeOrNull,
  progress: textOrNull,
  left: count.nullable(),
  etaSeconds: amount.nullable(),
  result: textOrNull,
  ended: timeOrNull,
  answers: z
    .strictObject({
      requests: count,
      points: count,
      kinds: z.record(text, count),
      failures: z.array(z.strictObject({ kind: text, requests: count, message: text })),
    })
    .nullable(),
});
const backfills = z
  .array(backfillLine)
  .describe('`backfills list --json`: what asks for ranges of series; `backfills show --json` prints one of them');

/** Schemas by the names of their files. */
export const documents = {
  apply,
  backfill,
  backfills,
  export: exported,
  gaps,
  import: imported,
  keys,
  lake,
  markets,
  move,
  notify,
  'notify-test': notifyTest,
  plan,
  quality,
  repair,
  retry,
  sources,
  'source-refusals': sourceRefusals,
  status,
  track,
  'track-list': trackList,
  untrack,
  verify,
} as const;

type Frozen<Value> = Value extends object ? { readonly [Key in keyof Value]: Frozen<Value[Key]> } : Value;

/** What a command prints: `JsonDocument<'status'>`. */
export type JsonDocument<Name extends keyof typeof documents> = Frozen<z.infer<(typeof documents)[Name]>>;
