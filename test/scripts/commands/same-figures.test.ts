/** What is to go is one figure with one noun, wherever it is read. */

import { expect, it } from 'vitest';
import { progressWords } from '../../../dashboard/page/overview/progress.ts';
import { backfillProgress } from '../../../dashboard/page/state/model.ts';
import { listenTo } from '../../dashboard/event-stream.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs, startService } from '../command.ts';
import { openWatched } from './watch-list-parts.ts';

const candles = 'candles --exchange binance --base bitcoin --quote tether --interval m1,h1 --from 2024-03-01';

it('page, status, its document and a backfill say the same of what is to go', { timeout: processesMs }, async () => {
  const { env, simulator, begin, json, run, say } = await openWatched();
  expect(await run(`backfill ${candles} --to 2024-03-03`)).toMatchObject({ exitCode: 0 });
  await say(`track ${candles} --to 2024-03-21`);

  const figures = '19 of 21 requests to go, 10.00 % covered';
  expect(await say('status')).toContain(`\nbackfill: ${figures}\n`);
  const days = 24 * 3600;
  expect(await json('status')).toMatchObject({
    ...{ windowsLeft: 19, requests: 21, wantedSeconds: 40 * days, coveredSeconds: 4 * days },
  });
  const { root } = await startService(env);
  const { data } = await (await listenTo(`${root}dashboard/events`)).next(({ name }) => name === 'snapshot');
  if (!('summary' in data)) throw new Error('no snapshot');
  expect(progressWords(data.series.length, backfillProgress(data.series), data.summary)).toContain(figures);

  simulator.setFaults({ timeoutRate: 1 });
  const filling = begin(`backfill ${candles} --to 2024-03-21`, { SOURCE_TIMEOUT_SECONDS: '3' });
  await waitFor('its progress', () => filling.stderr().includes(`backfill: ${figures}, `));
  filling.kill('SIGINT');
  expect(await filling.ended).toMatchObject({ exitCode: 130 });
  expect(filling.stderr()).toContain('stopped with 19 requests to go; fetched windows are stored');
});
