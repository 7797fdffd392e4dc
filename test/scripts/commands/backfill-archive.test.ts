import { expect, it } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { hourMs } from '../../../contract/intervals.ts';
import { storedPoints } from '../../pipeline/stored.ts';
import { bitcoinHours as series } from '../../queue/queue-parts.ts';
import { openVenues } from './watch-list-parts.ts';

const fromMs = Date.UTC(2024, 0, 1);
const months = ['2024-01', '2024-02', '2024-03', '2024-04', '2024-05', '2024-06'];

/** REST, an archive of the same market by months, and one by days. @param badFileRate share of files with a defect. */
async function open(badFileRate = 0) {
  const opened = await openVenues(['binance', 'binance-archive', 'binance-archive-daily']);
  const { binance: rest, 'binance-archive': archive, 'binance-archive-daily': daily } = opened.venues;
  archive.setFaults({ badFileRate });
  opened.list({ binance: ', archive: binance-archive' });
  return {
    ...opened,
    ...{ rest, archive, daily },
    backfill: (to = '2024-07-01') =>
      opened.say(
        `backfill candles --source binance --symbol BTC/USDT --interval h1 --from 2024-01-01 --to ${to} --json`,
      ),
    truth: (endMs = Date.UTC(2024, 6, 1)) => rest.truth.candles(series, { startMs: fromMs, endMs }),
    stored: () => storedPoints(opened.database, { ...series, baseId: 'BTC', quoteId: 'USDT' }),
    klines: () => rest.requests().recent.filter(({ url }) => url.includes('klines')).length,
    files: (of = archive) =>
      of
        .requests()
        .recent.flatMap(({ url }) => /(\d{4}-\d\d(?:-\d\d)?)\.zip$/.exec(url)?.[1] ?? [])
        .sort(),
    /** Gives these hours other values in one of them. */
    revise(of: typeof archive, hours: readonly number[], values: Readonly<Record<string, string>>) {
      for (const hour of hours)
        of.revise({
          ...{ series, timeMs: fromMs + hour * hourMs, fromMs: 0 },
          values: Object.fromEntries(Object.entries(values).map(([name, text]) => [name, decimalText(text)])),
        });
    },
  };
}

it('takes every month from the archive, and nothing a second time', async () => {
  const { backfill, truth, stored, klines, files } = await open();
  await backfill();
  expect(await stored()).toEqual(truth());
  expect(files()).toEqual(months);
  // REST shows that the series has begun before.
  expect(klines()).toBeLessThanOrEqual(1);
  expect(JSON.parse(await backfill())).toMatchObject({ requests: 0, points: 0 });
  expect(files()).toEqual(months);
});

it('files with any defect are filled from the next source', async () => {
  const { backfill, truth, stored, klines, files, query } = await open(1);
  await backfill();
  expect(await stored()).toEqual(truth());
  // Each is asked for once: what is wrong with it stays wrong.
  expect(files()).toEqual(months);
  expect(klines()).toBeGreaterThan(0);
  // A file that lacks rows at both ends and in its middle gives some: all others of these give nothing.
  expect(await query('select distinct source, verdict from tidemark.fetches')).toEqual(
    expect.arrayContaining([
      { source: 'binance-archive', verdict: 'incomplete' },
      { source: 'binance-archive', verdict: 'filled' },
      { source: 'binance', verdict: 'filled' },
    ]),
  );
});
