/** The universe at a date, computed again from the points before it. */

import { beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { useStore } from '../../store/open-store.ts';
import { market, put } from './candles.ts';
import { ask, rowsIn } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const days = 60;

interface Listed {
  readonly base: string;
  readonly quote: string;
  /** Days from the start, half-open; the last ones of a market that is gone. */
  readonly listed: readonly [number, number];
  readonly missing?: readonly [number, number];
  readonly isHourly?: true;
  readonly isUntracked?: true;
  readonly volume: (day: number) => number;
}
const markets: readonly Listed[] = [
  { base: 'big', quote: 'tether', listed: [0, days], volume: (day) => 1000 + (day % 7) },
  { base: 'hourly', quote: 'tether', listed: [0, days], isHourly: true, volume: (day) => 24 * (3 + (day % 3)) },
  { base: 'gone', quote: 'tether', listed: [0, 31], isUntracked: true, volume: () => 500 },
  { base: 'late', quote: 'tether', listed: [20, days], volume: (day) => day * 10 },
  { base: 'gap', quote: 'tether', listed: [0, days], missing: [25, 33], volume: () => 300 },
  { base: 'quiet', quote: 'tether', listed: [0, days], volume: (day) => (day % 4 === 0 ? 50 : 0) },
  { base: 'swap', quote: 'tether:tether', listed: [0, days], volume: () => 100 },
  { base: 'other', quote: 'euro', listed: [0, days], volume: () => 2000 },
];
const price = (day: number) => 10 + (day % 5);
const isKnown = ({ listed, missing = [0, 0] }: Listed, day: number) =>
  day >= listed[0] && day < listed[1] && !(day >= missing[0] && day < missing[1]);

interface Asked {
  readonly atDay: number;
  readonly of: number;
  readonly least?: number;
  readonly quotes?: readonly string[];
  readonly silence?: number;
}

/** Markets with their mean daily quote volume: high and low are as far above the close as below. */
function universe({ atDay, of, least = 0, quotes, silence = 1 }: Asked): string[] {
  const window = Array.from({ length: of }, (_, place) => Math.floor(atDay) - of + place);
  return markets
    .filter(({ quote }) => quotes === undefined || quotes.includes(quote))
    .flatMap((one) => {
      const known = window.filter((day) => isKnown(one, day));
      const traded = known.filter((day) => one.volume(day) > 0);
      const value = known.reduce((sum, day) => sum + price(day) * one.volume(day), 0) / known.length;
      const last = traded.at(-1) ?? Number.NEGATIVE_INFINITY;
      if (!(value >= least && last >= Math.floor(atDay) - silence)) return [];
      const kind = one.quote.includes(':') ? 'perpetual' : 'spot';
      const row = [one.base, one.quote, kind, value.toFixed(6), traded.length, last, price(last)];
      return [{ value, base: one.base, row: row.join(' | ') }];
    })
    .sort((a, b) => b.value - a.value || (a.base < b.base ? -1 : 1))
    .map(({ row }) => row);
}

const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  for (const one of markets) {
    const key = { ...market(one.base, one.isHourly ? 'h1' : 'd1'), quoteId: one.quote };
    const at = (day: number) => startMs + day * dayMs;
    const { seriesId } = await trackSeries(store.database, key, at(one.listed[0]), at(one.listed[1]));
    const perDay = one.isHourly ? 24 : 1;
    const known = Array.from({ length: days }, (_, day) => day).filter((day) => isKnown(one, day));
    await put(
      store.database,
      seriesId,
      known.flatMap((day) =>
        Array.from({ length: perDay }, (_, hour) => ({
          ...{ timeMs: at(day) + hour * hourMs, open: String(price(day)), close: String(price(day)) },
          ...{ high: String(price(day) + 1), low: String(price(day) - 1), volume: String(one.volume(day) / perDay) },
        })),
      ),
    );
    await store.database.pool.query(
      `update tidemark.series set points = $2, untracked_at = case when $3 then now() end,
           covered = (select range_agg(tstzrange(t, t + interval '24 hours')) from unnest($4::timestamptz[]) t)
         where id = $1`,
      [seriesId, known.length * perDay, one.isUntracked === true, known.map((day) => timestamp(at(day)))],
    );
  }
  // Of other years it has more, at another interval: days of the present are not derived from that.
  const earlierMs = startMs - 400 * dayMs;
  const { seriesId } = await trackSeries(store.database, market('hourly', 'h4'), earlierMs, startMs);
  await store.database.pool.query(
    'update tidemark.series set covered = tstzmultirange(tracked), points = 1 where id = $1',
    [seriesId],
  );
});
const found = ({ atDay, of, least, quotes, silence }: Asked) => {
  const options = [
    `days => ${of}`,
    ...(least === undefined ? [] : [`minimum_quote_volume => ${least}`]),
    ...(quotes === undefined ? [] : [`quotes => '{${quotes}}'`]),
    ...(silence === undefined ? [] : [`max_silence => '${silence} days'`]),
  ];
  const at = new Date(startMs + atDay * dayMs).toISOString();
  return rows(
    `select base, quote, kind, round(quote_volume, 6), days_traded,
              extract(epoch from last_day - '2024-01-01Z')::bigint / 86400, close
       from universe_at('${at}', ${options})`,
  );
};

it.each<Asked>([
  { atDay: 10, of: 7 },
  { atDay: 10.9, of: 7 },
  // Delisted that day, and the day after.
  { atDay: 31, of: 30 },
  { atDay: 32, of: 30 },
  { atDay: 21, of: 30 },
  { atDay: 30, of: 30 },
  { atDay: 40, of: 30, least: 3000 },
  { atDay: 40, of: 30, quotes: ['euro', 'tether:tether'] },
  { atDay: 44, of: 5, silence: 4 },
  { atDay: days, of: 14 },
])('at day $atDay has what traded before it: %o', async (asked) => {
  const expected = universe(asked);
  expect(expected.length).toBeGreaterThan(1);
  expect(await found(asked)).toEqual(expected);
});

it('tells which markets are not fully covered, and refuses unknown names', async () => {
  const sql = (at: string) => `select base, coverage from universe_at('${at}', days => 30, quotes => '{tether}')`;
  const { rows: answer, notices } = await ask(store.url, sql('2024-02-01Z'));
  expect(answer).toEqual(expect.arrayContaining(['big | 1', 'late | 0.366666', 'gone | 1']));
  expect(answer.map((row) => row.split(' ')[0])).not.toContain('gap');
  expect(notices).toEqual([expect.stringMatching(/^2 of 6 markets are not fully covered from 2024-01-02 00:00/)]);
  for (const [call, message] of [
    [`now(), exchanges => '{xx}'`, 'unknown exchange "xx"'],
    [`now(), quotes => '{tether,tethre}'`, 'unknown quote "tethre"'],
    ['null', 'at must be given, and is null'],
    [`now(), 'NaN'`, 'minimum_quote_volume must be finite, and is NaN'],
    [`now(), 'infinity'`, 'minimum_quote_volume must be finite, and is Infinity'],
    ['now(), days => 0', 'days must be from 1 to 3660'],
    [`now(), max_silence => '1 hour'`, 'max_silence is at least a day'],
  ])
    await expect(rows(`select * from universe_at(${call})`)).rejects.toThrow(message);
});

it.each([
  ['at', `universe_at('2999-01-01Z')`],
  ...['assets', 'exchanges', 'markets', 'asset_markets'].map((list) => ['at', `${list}_at('2999-01-01Z')`]),
  ['known_at', `candles_as_known_at('x', 'big', 'tether', 'd1', '2999-01-01Z')`],
])('says that %s is in the future: %s', async (name, call) => {
  const { notices } = await ask(store.url, `select * from ${call}`);
  const ofFuture = notices.filter((notice) => notice.includes('in the future'));
  expect(ofFuture).toHaveLength(1);
  expect(ofFuture[0]).toMatch(new RegExp(`^${name} is in the future, at .+: the answer is what is known now`));
});
