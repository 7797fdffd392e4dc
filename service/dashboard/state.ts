/** Reads the state that pages are kept up to date with: what is cheap each time, the rest now and then. */

import { type EpochMs, hourMs, minuteMs } from '../../contract/intervals.ts';
import { listName } from '../../contract/lists.ts';
import { seriesLines } from '../../store/dashboard/lines.ts';
import { countQuarantined } from '../../store/dashboard/problems.ts';
import { type CountedMinute, requestMinutes } from '../../store/dashboard/requests.ts';
import type { Database } from '../../store/database.ts';
import { standingNotice } from '../../store/ledger.ts';
import { ratesEveryMs } from '../../store/snapshots/lists.ts';
import { listStatus } from '../../store/snapshots/status.ts';
import { ratesProblem, ratesStatus, serverVersions } from '../../store/status.ts';
import type { ServedQueue } from './queue.ts';
import type { ListLine, RequestMinutes, Snapshot } from './shapes.ts';

type RangeLimits = Parameters<typeof seriesLines>[1]['limits'];

export interface StateOptions {
  readonly database: Database;
  readonly queue: ServedQueue;
  readonly now: () => EpochMs;
  readonly graceMs: number;
  /** Longest ranges of a request, where they differ from the interface's. */
  readonly rangeLimits: RangeLimits;
  readonly perMinute: number;
  /** How often rates are polled, unless the store says otherwise; 0, or absent: never. */
  readonly ratesMs?: number;
  readonly synthetic: boolean;
}

const shownMinutes = 60;
/** A commit is stamped before it is seen: these minutes are counted anew each time. */
const unsettledMinutes = 3;
/** How often what changes slowly, or costs more, is read; and rows in quarantine, which cost most. */
const slowlyMs = 10_000;
const rarelyMs = 60_000;
const quarantineLooked = 300;

/** @returns reads a snapshot; one reading at a time. */
export function stateReader(options: StateOptions): () => Promise<Snapshot> {
  const { database, queue, now, graceMs, rangeLimits, perMinute, synthetic } = options;
  const minutes = new Minutes(database);
  const slow = keptFor(slowlyMs, (nowMs) => readSlowly(options, nowMs));
  const quarantined = keptFor(rarelyMs, () => countQuarantined(database, quarantineLooked));
  const version = keptFor(rarelyMs, async () => versionText(await serverVersions(database)));
  return async () => {
    const nowMs = now();
    // One after the other: a page is in no hurry, and takes one connection.
    const lines = await seriesLines(database, { nowMs, graceMs, limits: rangeLimits });
    const requests = await minutes.read(nowMs);
    const looked = await queue.look();
    return {
      summary: {
        ...{ nowMs, synthetic, perMinute, requests, queue: looked?.depth ?? null },
        ...(await slow(nowMs)),
        quarantined: await quarantined(nowMs),
        database: await version(nowMs),
      },
      series: lines.map((line) => ({ ...line, inFlight: looked?.windows.get(line.id)?.length ?? 0 })),
    };
  };
}

/** Reads anew once what was read is older than that. */
function keptFor<Value>(
  ms: number,
  read: (nowMs: EpochMs) => Promise<Value>,
): (nowMs: EpochMs) => Promise<Value> {
  let kept: { readonly atMs: EpochMs; readonly value: Value } | null = null;
  return async (nowMs) => {
    if (kept === null || Math.abs(nowMs - kept.atMs) >= ms) kept = { atMs: nowMs, value: await read(nowMs) };
    return kept.value;
  };
}

async function readSlowly({ database, ratesMs }: StateOptions, nowMs: EpochMs) {
  const rates = await ratesLine(database, ratesMs ?? 0, nowMs);
  const lists = await listStatus(database, nowMs);
  return {
    notice: await standingNotice(database, nowMs),
    lists: [
      ...(rates === null ? [] : [rates]),
      ...lists.map(
        ({ list, everyMs, newestMs, rows, problem }): ListLine => ({
          name: listName(list),
          ...{ everyMs, newestMs, rows, problem },
        }),
      ),
    ],
  };
}

/** @returns null: they are not polled, and never were. */
async function ratesLine(database: Database, configuredMs: number, nowMs: EpochMs): Promise<ListLine | null> {
  const { newestMs, currencies } = await ratesStatus(database);
  const everyMs = await ratesEveryMs(database, configuredMs);
  if (newestMs === null && everyMs === 0) return null;
  // Further back than the poll before the newest nothing is looked for: the ledger has no index by dataset.
  const sinceMs = nowMs - Math.max(hourMs, 2 * everyMs);
  const problem = everyMs === 0 ? null : await ratesProblem(database, sinceMs);
  return { name: 'rates', everyMs, newestMs, rows: newestMs === null ? null : currencies, problem };
}

function versionText({ postgres, timescale }: Awaited<ReturnType<typeof serverVersions>>): string {
  return `PostgreSQL ${postgres.split(' ')[0]}, ${timescale === null ? 'plain tables' : `TimescaleDB ${timescale}`}`;
}

/** The last hour's minutes: the whole of it once, then only what may still change. */
class Minutes {
  readonly #database: Database;
  #known: readonly CountedMinute[] = [];
  #upToMs: EpochMs | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  async read(nowMs: EpochMs): Promise<RequestMinutes> {
    const endMs = Math.floor(nowMs / minuteMs) * minuteMs + minuteMs;
    const startMs = endMs - shownMinutes * minuteMs;
    const settledMs = endMs - unsettledMinutes * minuteMs;
    // After a pause without pages, what was unsettled then is read as well.
    const sinceMs = this.#upToMs === null ? startMs : Math.max(startMs, Math.min(settledMs, this.#upToMs));
    const fresh = await requestMinutes(this.#database, sinceMs);
    this.#known = [
      ...this.#known.filter(({ minuteMs: at }) => at >= startMs && at < sinceMs),
      ...fresh.filter(({ minuteMs: at }) => at < endMs),
    ];
    this.#upToMs = settledMs;
    const lanes: Record<string, number[]> = {};
    const failed = new Array<number>(shownMinutes).fill(0);
    for (const { minuteMs: at, lane, requests, failed: lost } of this.#known) {
      const place = (at - startMs) / minuteMs;
      const counts = lanes[lane] ?? new Array<number>(shownMinutes).fill(0);
      lanes[lane] = counts;
      counts[place] = requests;
      failed[place] = (failed[place] ?? 0) + lost;
    }
    return { startMs, lanes, failed };
  }
}
