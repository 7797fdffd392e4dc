import { expect, it } from 'vitest';
import { databaseAway } from '../../../planning/headline.ts';
import { quietSummary, seriesLine } from '../lines.ts';
import { modelOf } from './rendered.ts';

const trouble = { message: 'away', headline: databaseAway('none') };

it('replaces its series by a snapshot, and takes changes over them', () => {
  const model = modelOf([seriesLine(), seriesLine({ id: 2 })]);
  model.takeChange({ summary: quietSummary, series: [seriesLine({ id: 3 }), seriesLine({ version: 'b' })], gone: [2] });
  expect([...model.series.values()].map(({ id, version }) => `${id}${version}`)).toEqual(['1b', '3a']);
  model.takeSnapshot({ summary: quietSummary, series: [seriesLine({ id: 4 })] });
  expect([...model.series.keys()]).toEqual([4]);
});

it('keeps the old state in trouble, until the next event', () => {
  const model = modelOf([seriesLine()]);
  model.takeTrouble(trouble);
  expect([model.connection, model.trouble, model.series.size]).toEqual(['trouble', trouble, 1]);
  model.takeChange({ summary: quietSummary, series: [], gone: [] });
  expect([model.connection, model.trouble]).toEqual(['live', null]);
});

it('calls once when what was lost is back, not when it is lost, also if the page was hidden meanwhile', () => {
  const model = modelOf();
  let backs = 0;
  const end = model.onBack(() => {
    backs += 1;
  });
  const seen = [
    'lost',
    'connecting',
    'live',
    'live',
    'paused',
    'connecting',
    'live',
    'lost',
    'paused',
    'live',
  ] as const;
  const counts = seen.map((connection) => {
    model.setConnection(connection);
    return backs;
  });
  expect(counts).toEqual([0, 0, 1, 1, 1, 1, 1, 1, 1, 2]);
  end();
  model.takeTrouble(trouble);
  model.setConnection('live');
  expect(backs).toBe(2);
});

it('retries what failed, but not while it is away', () => {
  const model = modelOf();
  let retries = 0;
  model.onRetry(() => {
    retries += 1;
  });
  model.retry();
  for (const connection of ['lost', 'trouble'] as const) {
    model.setConnection(connection);
    model.retry();
  }
  expect(retries).toBe(1);
});
