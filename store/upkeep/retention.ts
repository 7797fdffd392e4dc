/**
 * Retention: how long the points of a dataset are kept. Off by default; stored in `tidemark.settings`.
 *
 * Whole chunks are dropped, so the kept part begins at the *cut*: the start of the chunk that holds the time
 * one age ago. Plain tables have no chunks, and use the same grid.
 */

import type pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { isPointList, pointLists } from '../../model/lists/index.ts';
import { type StoredDataset, storedDatasets, storedTables } from '../../model/stored-datasets.ts';
import { isAge, timeOfAge } from '../../model/time-text.ts';
import type { Database } from '../db/database.ts';
import { bool, int4, statement, statementsBy, text, time } from '../db/statement.ts';
import { writeSettingText } from '../settings/settings.ts';
import { isHypertable } from '../timescale/extension.ts';
import { chunkDaysOf } from '../timescale/hypertables.ts';

export interface Retention {
  readonly dataset: StoredDataset;
  /** Such as `2y`. */
  readonly age: string;
  /** Points before it are dropped. */
  readonly cutMs: EpochMs;
}

const settingName = (dataset: StoredDataset) => `retention.${dataset}`;

/**
 * Sets the retention of a dataset, from the next {@link applyRetention} on.
 *
 * @param age as `model/time-text.ts` reads it; null: forever. @returns false: it was forever already.
 */
export function writeRetention(
  client: pg.Pool | pg.PoolClient,
  dataset: StoredDataset,
  age: string | null,
): Promise<boolean> {
  return writeSettingText(client, settingName(dataset), age);
}

/**
 * Lists the retentions that are on, with their present cuts.
 *
 * @throws TidemarkError BAD_CONFIGURATION when a stored age is invalid.
 */
export async function listRetentions(database: Database, nowMs: EpochMs): Promise<Retention[]> {
  const found: Retention[] = [];
  for (const [dataset, age] of await retentionAges(database.pool)) {
    const cutMs = await findCut(database.pool, dataset, timeOfAge(age, nowMs));
    found.push({ dataset, age, cutMs });
  }
  return found;
}

/**
 * Reads the ages by dataset. A dataset without one is kept forever.
 *
 * @throws TidemarkError BAD_CONFIGURATION when a stored age is invalid.
 */
export async function retentionAges(client: pg.ClientBase | pg.Pool): Promise<Map<StoredDataset, string>> {
  const values = new Map((await retentions.on(client, {})).map((row) => [row.name, row.value]));
  const ages = new Map<StoredDataset, string>();
  for (const dataset of storedDatasets) {
    const age = values.get(settingName(dataset));
    if (age === undefined) continue;
    if (!isAge(age)) {
      throw new TidemarkError(
        'BAD_CONFIGURATION',
        `${settingName(dataset)} in tidemark.settings is not a valid age: ${JSON.stringify(age)}`,
        { remedy: 'set it with `tidemark retention set`' },
      );
    }
    ages.set(dataset, age);
  }
  return ages;
}

const retentions = statement({
  name: 'retentions',
  text: `select name, value from tidemark.settings where name like 'retention.%'`,
  row: { name: text, value: text },
});

/** Whether points of a dataset before `cutMs` are stored. */
export async function hasPointsBefore(
  client: pg.ClientBase | pg.Pool,
  dataset: StoredDataset,
  cutMs: EpochMs,
): Promise<boolean> {
  const { any } = isPointList(dataset)
    ? await anyPolledBefore(dataset).one(client, { cut: cutMs })
    : await anyBefore.one(client, { dataset, cut: cutMs });
  return any;
}

const anyBefore = statement({
  name: 'any-points-before',
  isPlannedAnew: true,
  text: 'select exists (select from tidemark.series where dataset = $dataset and earliest < $cut) as any',
  parameters: { dataset: text, cut: time },
  row: { any: bool },
});

const anyPolledBefore = statementsBy(pointLists, (name) =>
  statement({
    name: `any-${name}-before`,
    isPlannedAnew: true,
    text: `select exists (select from tidemark.${storedTables[name]} where time < $cut) as any`,
    parameters: { cut: time },
    row: { any: bool },
  }),
);

/**
 * Start of the chunk that holds `momentMs`. Without such a chunk it is computed like TimescaleDB's grid: chunks start a
 * whole number of lengths from 1970. Chunks that were created with another length are kept whole.
 */
export async function findCut(
  client: pg.ClientBase | pg.Pool,
  dataset: StoredDataset,
  momentMs: EpochMs,
): Promise<EpochMs> {
  const table = storedTables[dataset];
  const moment = { moment: momentMs, chunkDays: chunkDaysOf(table) };
  const { cut } = (await isHypertable(client, table))
    ? await chunkCut.one(client, { ...moment, table })
    : await gridCut.one(client, moment);
  return cut;
}

const grid = `date_bin(make_interval(days => $chunkDays), $moment, '1970-01-01T00:00:00Z')`;

const gridCut = statement({
  name: 'retention-cut-of-grid',
  text: `select ${grid} as cut`,
  parameters: { moment: time, chunkDays: int4 },
  row: { cut: time },
});

const chunkCut = statement({
  name: 'retention-cut-of-chunks',
  isPlannedAnew: true,
  text: `
    select (select coalesce(max(range_start) filter (where range_end > $moment), greatest(${grid}, max(range_end)))
            from timescaledb_information.chunks
            where hypertable_schema = 'tidemark' and hypertable_name = $table and range_start <= $moment) as cut`,
  parameters: { moment: time, chunkDays: int4, table: text },
  row: { cut: time },
});
