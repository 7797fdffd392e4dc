import { expect, it } from 'vitest';
import { openWatched } from './watch-list-parts.ts';

const backfill =
  'backfill candles --exchange binance --base bitcoin --quote tether --interval m1,h1 --from 2024-03-01 --to';

it('shows the cost of a backfill with --dry-run, which it then takes, and changes nothing', async () => {
  const { say, json, simulator } = await openWatched();
  const cost = await json(`${backfill} 2024-03-05 --dry-run`);
  expect(cost).toMatchObject({
    ...{ requests: 5, points: 4 * 1440 + 4 * 24, requestsPerMinute: 6000, fresh: { neededPerMinute: 1 } },
  });
  expect(simulator.requests().total).toBe(0);
  expect(await say('plan')).toContain('no series is tracked');

  await say(`${backfill} 2024-03-05`);
  expect(simulator.requests().total).toBe(cost.requests);
  expect(await say('plan')).toMatch(/^nothing is missing\n(?!.*candles)/s);
  // Of what is asked for next, only what is new; as dense as what came.
  const more = await json(`${backfill} 2024-03-06 --dry-run`);
  expect(more.requests).toBe(2);
  expect(more.points).toBeLessThanOrEqual(1440 + 24);
  expect(more.points).toBeGreaterThan(1400);
});

it('warns when the budget cannot keep the series fresh, and says what would be enough', async () => {
  const { run, say, query } = await openWatched();
  await run('untrack rates');
  await query(
    `insert into tidemark.series (dataset, exchange_id, base_id, quote_id, interval, period, tracked)
     select 'candles', 'x', 'b' || n, 'q', 'm1', '1 minute', tstzrange(now() - interval '1 hour', null)
     from generate_series(1, 400) n;
     insert into tidemark.series_sources (series_id, rank, source, symbol)
     select id, 1, 'default', '' from tidemark.series on conflict do nothing`,
  );
  // The limit of a source without a key.
  const own = { SOURCE_REQUESTS_PER_MINUTE: '' };
  const text = await say('plan', own);
  expect(text).toContain('staying fresh takes 401 requests a minute, 200.4 % of the budget');
  expect(text).toMatch(
    /warning: the budget cannot keep this fresh.* every 2 min, or every 2 min 30 s during backfill.*401 requests a minute are enough \(with a key the source allows 500\).*at most 199 series/,
  );
  expect(JSON.parse(await say('plan --json', own))).toMatchObject({ fresh: { neededPerMinute: 401, maxThatFit: 199 } });
  // A list is a request for each page, and the rates are one.
  await run('track assets --every 1m');
  await run('track rates --every 30s');
  expect(await say('plan', own)).toContain('3.00 for polls');
  const withKey = await say('plan', { ...own, SOURCE_API_KEY: 'k' });
  expect(withKey).not.toContain('warning');
  expect(withKey).toContain('80.8 % of the budget');
});
