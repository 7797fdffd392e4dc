import { expect, it } from 'vitest';
import { systemClock } from '../../clock.ts';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import { commandCostText, costOfCommand } from '../../operations/command-cost.ts';
import { readRegistry } from '../../runtime/sources.ts';
import { readConfig } from '../../settings/config.ts';
import { insertBackfill } from '../../store/ledger/backfills.ts';
import { trackSeries } from '../../store/series/series.ts';
import { writeSourcePause } from '../../store/settings/source-orders.ts';
import { changeRefusal } from '../../store/settings/source-refusal.ts';
import { bitcoinHours, defaultKind, openQueue, prepareQueue } from '../queue/queue-parts.ts';
import { openOwnStore } from '../store/open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const days = (count: number) => ({ startMs, endMs: startMs + count * dayMs });

/** A budget of 60 requests a minute, of which a command has 6. */
async function open() {
  const { database } = await openOwnStore();
  const config = readConfig({ SOURCE_REQUESTS_PER_MINUTE: '60' });
  const registry = await readRegistry(config);
  const options = await prepareQueue(defaultKind());
  const openQueues = () => openQueue(options);
  const context = { database, config, clock: systemClock, sources: async () => registry, openQueues };
  return {
    database,
    async backfill(windows: number, isAlive = true) {
      const series = { ...bitcoinHours, baseId: `of ${windows}`, interval: 'm1' } as const;
      const { seriesId } = await trackSeries(database, series, startMs, days(windows).endMs);
      const range = days(windows);
      const asked = [{ seriesId, range, before: null, after: range }];
      await insertBackfill(
        database.pool,
        { kind: 'backfill', by: 'ann', series: asked },
        { nowMs: Date.now(), isAlive },
      );
    },
    async cost(windows: number, slots: 'backfill' | 'command' = 'command') {
      const asked = { source: defaultSource, series: bitcoinHours, ranges: [days(windows)], windows };
      const [found] = await costOfCommand(context, [asked], slots);
      expect(found).toBeDefined();
      return { minutes: (found?.durationMs ?? 0) / minuteMs, text: found === undefined ? '' : commandCostText(found) };
    },
  };
}

it('counts the tenth of the budget that a command has beside a backfill, until that one ends', async () => {
  const { backfill, cost } = await open();
  expect(await cost(60)).toMatchObject({ minutes: 1 });
  // Nobody goes on with it.
  await backfill(300, false);
  expect(await cost(60)).toMatchObject({ minutes: 1 });
  await backfill(600);
  // What it queues at once.
  expect(await cost(6)).toMatchObject({ minutes: 0.1 });
  // Nine times it waits for a minute of the backfill.
  expect(await cost(60)).toEqual({
    minutes: 10,
    text: "60 requests to the source, 100 % of a minute's budget, about 10 min",
  });
  expect(await cost(6000)).toMatchObject({ minutes: 110 });
  // Takes turns with the backfill.
  expect(await cost(60, 'backfill')).toMatchObject({ minutes: 1 });
});

it('says that a source is paused, in place of a time', async () => {
  const { database, cost } = await open();
  await writeSourcePause(database, defaultSource, { sinceMs: startMs, by: 'ann' });
  expect(await cost(60)).toMatchObject({ text: '60 requests to the source, which is paused' });
});

it('says until when a source accepts no request', async () => {
  const { database, cost } = await open();
  const untilMs = Date.UTC(2999, 0, 1, 6);
  const refused = { kind: 'rate_limited', message: 'slow down', atMs: startMs, inARow: 1, untilMs };
  await changeRefusal(database, defaultSource, () => ({ ...refused, aloneUntilMs: null, acceptedAtMs: null }));
  expect(await cost(60)).toMatchObject({
    text: "60 requests to the source, 100 % of a minute's budget, about 1 min, after 2999-01-01 06:00Z",
  });
});
