/** `tidemark retention [show] | set <dataset> <age> | off <dataset>`: the retention of points. */

import { systemClock, unlessStopped } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import { counted, formatTime } from '../../model/format.ts';
import { storedDatasets, storedWords } from '../../model/stored-datasets.ts';
import { withContext } from '../../runtime/context.ts';
import { applyRetention } from '../../store/upkeep/drop-old.ts';
import { findCut, listRetentions, writeRetention } from '../../store/upkeep/retention.ts';
import { askOnTerminal, confirmByName } from '../input/confirm.ts';
import { datasetOf } from '../input/datasets.ts';
import { parseAge } from '../input/parse-options.ts';
import { table } from '../output/table.ts';

export async function show(): Promise<void> {
  await withContext({ command: 'retention', needsDatabase: true }, async (context) => {
    const retentions = await listRetentions(context.database, context.clock.now());
    const rows = storedDatasets.map((dataset) => ({
      dataset,
      retention: retentions.find((one) => one.dataset === dataset),
    }));
    console.log(
      table(
        [
          { title: 'dataset', value: (row) => storedWords[row.dataset] },
          { title: 'retention', value: (row) => row.retention?.age ?? 'forever' },
          {
            title: 'nothing before',
            value: (row) => (row.retention === undefined ? '-' : formatTime(row.retention.cutMs)),
          },
        ],
        rows,
      ),
    );
  });
}

/** Drops older points after a confirmation. @throws TidemarkError BAD_ARGUMENT, INTERRUPTED. */
export async function set(word: string, age: string, options: { confirm?: string }): Promise<void> {
  const dataset = datasetOf(word);
  const name = storedWords[dataset];
  const nowMs = systemClock.now();
  const limitMs = parseAge(age, 'the age', nowMs);
  await withContext(
    { command: 'retention', needsDatabase: true, defaultLogLevel: 'warn', handlesSignals: true },
    async (context, signal) => {
      const cutMs = await findCut(context.database.pool, dataset, limitMs);
      const what = `every point of ${name} from before ${formatTime(cutMs)}`;
      const consequence = `This drops ${what}, irreversibly, and once a day every point older than ${age}.`;
      context.phase(null);
      await confirmByName({ name, consequence, given: options.confirm, ask: askOnTerminal(signal) });
      if (signal.aborted) throw new TidemarkError('INTERRUPTED', 'stopped before any change');
      context.phase(`dropping points of ${name}`);
      await writeRetention(context.database.pool, dataset, age);
      const dropping = applyRetention(context.database, {
        clock: context.clock,
        nowMs,
        signal,
        onBusy: () => console.error(`another session holds a lock on ${name}; retrying in a few seconds`),
      });
      const dropped = await unlessStopped(dropping, signal);
      if (dropped === undefined) await dropping.catch(() => {});
      if (dropped === undefined) {
        throw new TidemarkError('INTERRUPTED', `stopped while points of ${name} were dropped`, {
          remedy: `the retention of ${age} stays: the next run drops the rest`,
        });
      }
      const points = dropped.find((one) => one.dataset === dataset)?.points ?? 0;
      console.log(`dropped ${counted(points, 'point')} of ${name} from before ${formatTime(cutMs)}; retention: ${age}`);
    },
  );
}

export async function off(word: string): Promise<void> {
  const dataset = datasetOf(word);
  await withContext({ command: 'retention', needsDatabase: true }, async (context) => {
    const wasOn = await writeRetention(context.database.pool, dataset, null);
    console.log(`${storedWords[dataset]} ${wasOn ? 'is kept forever from now on' : 'was kept forever already'}`);
  });
}
