/** `tidemark retention [show] | set <dataset> <age> | off <dataset>`: how long points are kept. */

import { type Command, Option } from 'commander';
import type { StoredDataset } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { applyRetention } from '../store/drop-old.ts';
import {
  cutOf,
  listRetentions,
  type Retention,
  removeRetention,
  setRetention,
  storedDatasets,
} from '../store/retention.ts';
import { askOnTerminal, confirmByName } from './confirm.ts';
import { parseAge } from './moment.ts';
import { openSession, type Session } from './session.ts';
import { onStop, unlessStopped } from './stop.ts';
import { table } from './table.ts';
import { counted, moment } from './wording.ts';

/** Datasets as the command line calls them, as in `track candles|history`. */
export const datasetNames: Readonly<Record<StoredDataset, string>> = Object.freeze({
  candles: 'candles',
  asset_history: 'history',
  rates: 'rates',
});

export function retentionCommand(program: Command): void {
  const retention = program
    .command('retention')
    .description('how long points are kept: for good, unless it is set')
    .helpCommand(false);
  retention.command('show', { isDefault: true }).description('show what is kept for how long').action(show);
  retention
    .command('set')
    .description('drop what is older than an age, now and once a day')
    .argument('<dataset>', Object.values(datasetNames).join(', '))
    .argument('<age>', 'such as 2y, 18w or 90d')
    .addOption(new Option('--confirm <dataset>', 'the dataset once more, where no one can be asked'))
    .action(set);
  retention
    .command('off')
    .description('keep a dataset for good again')
    .argument('<dataset>', Object.values(datasetNames).join(', '))
    .action(off);
}

async function show(): Promise<void> {
  const session = await openSession({ command: 'retention', defaultLogLevel: 'warn' });
  try {
    const retentions = await retentionsOf(session, Date.now());
    const rows = storedDatasets.map((dataset) => ({
      dataset,
      retention: retentions.find((one) => one.dataset === dataset),
    }));
    console.log(
      table(
        [
          { title: 'dataset', value: (row) => datasetNames[row.dataset] },
          { title: 'kept for', value: (row) => row.retention?.age ?? 'good' },
          {
            title: 'nothing before',
            value: (row) => (row.retention === undefined ? '-' : moment(row.retention.cutMs)),
          },
        ],
        rows,
      ),
    );
  } finally {
    await session.close();
  }
}

async function set(word: string, age: string, options: { confirm?: string }): Promise<void> {
  const dataset = datasetOf(word);
  const name = datasetNames[dataset];
  const nowMs = Date.now();
  const limitMs = parseAge(age, 'the age', nowMs);
  const stop = onStop();
  const session = await openSession({ command: 'retention', defaultLogLevel: 'warn', handlesSignals: true });
  try {
    const { chunkDays } = session.config.storage;
    const cutMs = await cutOf(session.database.pool, dataset, limitMs, chunkDays[dataset]);
    const what = `every point of ${name} from before ${moment(cutMs)}`;
    const consequence = `This drops ${what}, now and for good, and once a day what is older than ${age}.`;
    await confirmByName({ name, consequence, given: options.confirm, ask: askOnTerminal(stop.signal) });
    if (stop.signal.aborted) throw new TidemarkError('INTERRUPTED', 'stopped before anything was changed');
    await setRetention(session.database, dataset, age);
    const dropped = await unlessStopped(applyRetention(session.database, { nowMs, chunkDays }), stop.signal);
    if (dropped === undefined) {
      throw new TidemarkError('INTERRUPTED', `stopped while points of ${name} were dropped`, {
        remedy: `it is kept for ${age} from now on: what is left goes when retention is next applied`,
      });
    }
    const points = dropped.find((one) => one.dataset === dataset)?.points ?? 0;
    console.log(
      `dropped ${counted(points, 'point')} of ${name} from before ${moment(cutMs)}; it is kept for ${age} from now on`,
    );
  } finally {
    await session.close();
    stop.release();
  }
}

async function off(word: string): Promise<void> {
  const dataset = datasetOf(word);
  const session = await openSession({ command: 'retention', defaultLogLevel: 'warn' });
  try {
    const wasOn = await removeRetention(session.database, dataset);
    console.log(
      `${datasetNames[dataset]} ${wasOn ? 'is kept for good from now on' : 'was kept for good already'}`,
    );
  } finally {
    await session.close();
  }
}

/** The retentions that are on, with their cuts as of now. */
export function retentionsOf(session: Session, nowMs: number): Promise<Retention[]> {
  return listRetentions(session.database, { nowMs, chunkDays: session.config.storage.chunkDays });
}

/** `candles for 2y (nothing before 2024-09-11)`, for `status`. */
export function retentionText(retention: Retention): string {
  return `${datasetNames[retention.dataset]} for ${retention.age} (nothing before ${moment(retention.cutMs)})`;
}

/** @throws TidemarkError BAD_ARGUMENT */
export function datasetOf(word: string): StoredDataset {
  const dataset = storedDatasets.find((one) => datasetNames[one] === word);
  if (dataset !== undefined) return dataset;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `the dataset is one of ${Object.values(datasetNames).join(', ')}, not ${JSON.stringify(word)}`,
  );
}
