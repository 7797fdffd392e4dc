/** Figures of a whole range do not change while a period is open: they are of the closed ones, whatever the end. */

import { beforeAll, expect, it } from 'vitest';
import { dayMs, periodStart } from '../../../model/intervals.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { rowsIn, storeLine } from './price-line.ts';

const store = useStore();
const rows = rowsIn(store);
const closedDays = 9;
/** In SQL, so that it is the same moment for all that one statement reads. */
const openSince = `date_bin('1 day', now() - tidemark.grace(), '2001-01-01Z')`;

beforeAll(async () => {
  const startMs = periodStart(Date.now(), 'd1') - closedDays * dayMs;
  for (const [place, base] of ['a', 'b'].entries()) {
    // Two more days, whose prices are far below all others: the open one, and the next if midnight passes.
    const prices = Array.from({ length: closedDays + 2 }, (_, day) =>
      String(day < closedDays ? 100 + ((day * (place + 3)) % 7) : 1 + place * day),
    );
    await storeLine(store.database, { key: market(base, 'd1'), startMs, endMs: null, prices });
  }
});

const markets = `array['x a/tether', 'x b/tether']`;
it.each([
  ['maximum_drawdown', `'x a/tether'`],
  ['correlation', `'x a/tether', 'x b/tether'`],
  ['correlations', markets],
  ['correlations', `${markets}, pairwise => false`],
  ['correlation_matrix', markets],
  ['correlation_matrix', `${markets}, pairwise => false`],
  ['seasonality_by_hour', `'x a/tether'`],
  ['seasonality_by_weekday', `'x a/tether'`],
])('%s(%s) is of closed periods', async (name, args) => {
  const figures = (end: string) =>
    `(select jsonb_agg(f) from ${name}(${args}, interval_name => 'd1'${end === '' ? '' : `, to_time => ${end}`}) f)`;
  const [found] = await rows(
    `select closed, closed = ${figures('')}, closed = ${figures('now()')}, closed = ${figures(`'infinity'`)},
            closed = ${figures(`now() + interval '1 hour'`)}
     from (select ${figures(openSince)} as closed) c`,
  );
  const [closed, ...same] = found?.split(' | ') ?? [];
  expect(JSON.parse(closed ?? '')).not.toEqual([]);
  expect(same).toEqual(['t', 't', 't', 't']);
});
