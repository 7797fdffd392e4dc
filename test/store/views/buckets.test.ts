import { beforeAll, expect, it } from 'vitest';
import { compareDecimals, type DecimalText, decimalText } from '../../../contract/decimal.ts';
import { type EpochMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import { useStore } from '../open-store.ts';
import { market } from './candles.ts';
import { ask, priceAt, rowsIn, storeLine } from './price-line.ts';

const zone = 'America/New_York';
const yearMs = Date.UTC(2023, 11, 28);
const yearHours = 370 * 24;
/** Around the days on which clocks in New York go forward and back. */
const springMs = Date.UTC(2024, 2, 9);
const minutes = 3 * 1440;
const autumnMs = Date.UTC(2024, 10, 2);

interface Point {
  readonly timeMs: EpochMs;
  readonly price: DecimalText;
}

const pointAt = (place: number) =>
  place % 53 === 7 || (place > 2000 && place < 2030) ? null : priceAt(place);
const isCovered = (place: number) => place <= 2010 || place >= 2025;
const line = (count: number) => Array.from({ length: count }, (_, place) => pointAt(place));

/** Exact sum, with the most decimals of any. */
function sum(values: readonly string[]): string {
  const scale = Math.max(...values.map((value) => (value.split('.')[1] ?? '').length));
  const total = values.reduce((all, value) => {
    const [whole = '', fraction = ''] = value.split('.');
    return all + BigInt(whole + fraction.padEnd(scale, '0'));
  }, 0n);
  const digits = String(total).padStart(scale + 1, '0');
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const digitsOf = (price: string) => (price.split('.')[1] ?? '').length;
const furthest = (points: readonly Point[], sign: 1 | -1) =>
  points.reduce((best, point) => {
    const order =
      sign * compareDecimals(point.price, best.price) || digitsOf(point.price) - digitsOf(best.price);
    return order > 0 ? point : best;
  }).price;

/** What the definition says, from the points: rows of `begin | open | high | low | close | volume | coverage`. */
function expected(
  bounds: readonly (readonly [EpochMs, EpochMs])[],
  { startMs, everyMs, count }: { startMs: EpochMs; everyMs: number; count: number },
): string[] {
  return bounds.flatMap(([begins, ends]) => {
    const places = Array.from(
      { length: (ends - begins) / everyMs },
      (_, nth) => (begins - startMs) / everyMs + nth,
    );
    const points = places.flatMap((place) => {
      const price = place >= 0 && place < count ? pointAt(place) : null;
      return price === null ? [] : [{ timeMs: startMs + place * everyMs, price: decimalText(price) }];
    });
    const known = places.filter((place) => place >= 0 && place < count && isCovered(place)).length;
    const coverage = String(Math.floor((known / places.length) * 1e6) / 1e6);
    const begin = new Date(begins).toISOString().slice(0, 16);
    const [first] = points;
    if (first === undefined)
      return known === places.length ? [] : [`${begin} | - | - | - | - | - | ${coverage}`];
    const values = [first.price, furthest(points, 1), furthest(points, -1), points.at(-1)?.price];
    return [`${begin} | ${values.join(' | ')} | ${sum(points.map(() => '0.250'))} | ${coverage}`];
  });
}

const local = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
/** `2024-03-10 03:00` */
const localOf = (timeMs: EpochMs) => local.format(timeMs);

/** The times of a range at which the text of the local time begins anew. */
function beginnings(
  fromMs: EpochMs,
  toMs: EpochMs,
  everyMs: number,
  isBeginning: (text: string) => boolean,
): EpochMs[] {
  const times: EpochMs[] = [];
  for (let timeMs = fromMs; timeMs <= toMs; timeMs += everyMs)
    if (isBeginning(localOf(timeMs))) times.push(timeMs);
  return times;
}
const pairs = (times: readonly EpochMs[]) =>
  times.slice(0, -1).map((timeMs, place) => [timeMs, times[place + 1] ?? 0] as const);

const store = useStore();
const year = { startMs: yearMs, everyMs: hourMs, count: yearHours };
const spring = { startMs: springMs, everyMs: minuteMs, count: minutes };
const autumn = { startMs: autumnMs, everyMs: minuteMs, count: minutes };
beforeAll(async () => {
  for (const [base, { startMs, everyMs, count }] of Object.entries({ year, spring, autumn }))
    await storeLine(store.database, {
      key: market(base, everyMs === hourMs ? 'h1' : 'm1'),
      ...{ startMs, endMs: startMs + count * everyMs, prices: line(count), volume: '0.250' },
      covered: [
        [0, 2011],
        [2025, count],
      ],
    });
});

const rows = rowsIn(store);
const buckets = (base: string, rest: string) => {
  const columns = `to_char(time, 'YYYY-MM-DD"T"HH24:MI'), open, high, low, close, volume, coverage`;
  return rows(`select ${columns} from ohlcv_by('x', '${base}', 'tether', ${rest})`);
};
const source = (base: string, rest: string) =>
  rows(`select distinct derived_from from ohlcv_by('x', '${base}', 'tether', ${rest})`);

it('days of a time zone, of 23 and of 25 hours', async () => {
  const days = pairs(
    beginnings(Date.UTC(2024, 0, 1), Date.UTC(2024, 11, 30), hourMs, (text) => text.endsWith('00:00')),
  );
  expect(new Set(days.map(([begins, ends]) => (ends - begins) / hourMs))).toEqual(new Set([23, 24, 25]));
  const range = `'2024-01-01Z', '${new Date(days.at(-1)?.[0] ?? 0).toISOString()}'::timestamptz + interval '1 second'`;
  expect(await buckets('year', `'1 day', ${range}, zone => '${zone}'`)).toEqual(expected(days, year));
  expect(await source('year', `'1 day', ${range}, zone => '${zone}'`)).toEqual(['h1']);
});

it('calendar months and quarters, of a time zone and of UTC', async () => {
  const firsts = (toMs: EpochMs, step: number) =>
    pairs(
      beginnings(Date.UTC(2024, 0, 1, 1), toMs, hourMs, (text) => text.endsWith('-01 00:00')).filter(
        (_, place) => place % step === 0,
      ),
    );
  const toMs = Date.UTC(2024, 11, 2);
  expect(await buckets('year', `'1 month', '2024-01-01Z', '2024-11-15Z', zone => '${zone}'`)).toEqual(
    expected(firsts(toMs, 1), year),
  );
  expect(await buckets('year', `'3 months', '2024-01-01Z', '2024-07-15Z', zone => '${zone}'`)).toEqual(
    expected(firsts(toMs, 3), year),
  );
  const utc = [0, 1, 2].map((month) => [Date.UTC(2024, month), Date.UTC(2024, month + 1)] as const);
  expect(await buckets('year', `'1 month', '2024-01-01Z', '2024-04-01Z'`)).toEqual(expected(utc, year));
  expect(await source('year', `'1 month', '2024-01-01Z', '2024-04-01Z'`)).toEqual(['d1']);
});

it('without a beginning, the first bucket is that in which the data begin', async () => {
  const months = Array.from(
    { length: 13 },
    (_, nth) => [Date.UTC(2023, 11 + nth), Date.UTC(2023, 12 + nth)] as const,
  );
  expect(await buckets('year', `'1 month'`)).toEqual(expected(months, year));
  const evenings = pairs(
    beginnings(springMs - 24 * hourMs, springMs + 4 * 24 * hourMs, minuteMs, (text) =>
      text.endsWith('17:00'),
    ),
  ).slice(0, 4);
  expect(await buckets('spring', `'1 day', zone => '${zone}', session_from => '17:00'`)).toEqual(
    expected(evenings, spring),
  );
});

it('seven minutes, which divide no day, count on', async () => {
  const originMs = Date.UTC(2000, 0, 3);
  const step = 7 * minuteMs;
  const fromMs = originMs + Math.floor((springMs - originMs) / step) * step;
  const bounds = Array.from(
    { length: 500 },
    (_, nth) => [fromMs + nth * step, fromMs + (nth + 1) * step] as const,
  );
  const to = new Date(fromMs + 500 * step).toISOString();
  expect(await buckets('spring', `'7 minutes', to_time => '${to}'`)).toEqual(expected(bounds, spring));
});

it.each([
  ['spring', spring],
  ['autumn', autumn],
] as const)('hours that divide the day begin with each day, in %s', async (base, points) => {
  const { startMs } = points;
  const midnights = beginnings(startMs, startMs + 3 * 24 * hourMs, hourMs, (text) => text.endsWith('00:00'));
  const step = 6 * hourMs;
  const bounds = pairs(midnights).flatMap(([begins, ends]) =>
    Array.from({ length: Math.ceil((ends - begins) / step) }, (_, nth) => {
      const at = begins + nth * step;
      return [at, Math.min(at + step, ends)] as const;
    }),
  );
  const last = new Date(midnights.at(-1) ?? 0).toISOString();
  const first = new Date(midnights[0] ?? 0).toISOString();
  expect(await buckets(base, `'6 hours', '${first}', '${last}', zone => '${zone}'`)).toEqual(
    expected(bounds, points),
  );
});

it('sessions of a day, whole and in parts, also over midnight', async () => {
  const at = (clock: string, fromMs: EpochMs) =>
    beginnings(fromMs, fromMs + 3 * 24 * hourMs, minuteMs, (text) => text.endsWith(clock));
  const opens = at('09:30', springMs);
  const sessions = opens.map((open) => [open, open + 6.5 * hourMs] as const);
  const range = `'2024-03-09Z', '2024-03-12Z', '${zone}'`;
  expect(await buckets('spring', `'1 day', ${range}, '09:30', '16:00'`)).toEqual(expected(sessions, spring));
  const halves = sessions.flatMap(([begins, ends]) => [
    [begins, begins + 4 * hourMs] as const,
    [begins + 4 * hourMs, ends] as const,
  ]);
  expect(await buckets('spring', `'4 hours', ${range}, '09:30', '16:00'`)).toEqual(expected(halves, spring));
  const evenings = pairs(at('17:00', springMs));
  expect(evenings.map(([begins, ends]) => (ends - begins) / hourMs)).toEqual([23, 24]);
  const trading = `'1 day', '2024-03-09Z', '2024-03-11Z', '${zone}', '17:00'`;
  expect(await buckets('spring', trading)).toEqual(expected(evenings, spring));
});

// On 10 March clocks go from 02:00 to 03:00.
it.each([
  ['1 day', '02:00'],
  ['15 minutes', '02:30'],
  ['15 minutes', '02:15', '02:45'],
])('has no session of %s from %s on a day that skips it', async (bucket, opens, closes = '03:00') => {
  const range = `'2024-03-09Z', '2024-03-12Z', '${zone}', '${opens}', '${closes}'`;
  const days = await rows(
    `select distinct time::date, ends > time from ohlcv_by('x', 'spring', 'tether', '${bucket}', ${range}) order by 1`,
  );
  expect(days).toEqual(['2024-03-09 | t', '2024-03-11 | t']);
});

// Clocks go back at 01:00 in Havana, at 02:00 in New York, at 03:00 in Berlin.
it.each([
  [
    `'1 day', '2023-11-04', '2023-11-07', 'America/Havana'`,
    ['11-04 04:00 24', '11-05 04:00 25', '11-06 05:00 24'],
  ],
  [
    `'12 hours', '2023-11-05', '2023-11-06 05:00Z', 'America/Havana'`,
    ['11-05 04:00 12', '11-05 16:00 12', '11-06 04:00 1'],
  ],
  [`'1 month', '2023-11-01', '2023-12-01', 'America/Havana'`, ['11-01 04:00 721']],
  [`'1 day', '2023-10-28', '2023-10-29', 'Europe/Berlin', '22:00', '02:30'`, ['10-28 20:00 4.5']],
  [`'1 day', '2023-10-29', '2023-10-30', 'Europe/Berlin', '02:30', '22:00'`, ['10-29 00:30 20.5']],
  [`'1 day', '2023-11-05', '2023-11-06', '${zone}', '01:00', '02:00'`, ['11-05 05:00 2']],
  [
    `'1 day', '2023-11-04', '2023-11-06', '${zone}', '01:30', '01:15'`,
    ['11-04 05:30 23.75', '11-05 05:30 24.75'],
  ],
])('begins and ends at the first of a repeated hour: %s', async (rest, expected) => {
  const columns = `to_char(time, 'MM-DD HH24:MI ') || trim_scale(extract(epoch from ends - time) / 3600)`;
  const sql = `select ${columns} from ohlcv_by('x', 'autumn', 'tether', ${rest})`;
  expect(await rows(sql)).toEqual(expected);
});

// Samoa skipped a day; Santiago skips an hour from midnight on, New York one from 02:00 on.
it.each([
  [`'1 day', '2011-12-29 10:00Z', '2011-12-31 10:00Z', 'Pacific/Apia'`, ['12-29 10:00 24', '12-30 10:00 24']],
  [
    `'1 day', '2023-09-02 04:00Z', '2023-09-04 03:00Z', 'America/Santiago'`,
    ['09-02 04:00 24', '09-03 04:00 23'],
  ],
  [`'1 day', '2023-09-03', '2023-09-04', 'America/Santiago', '00:30', '02:00'`, ['09-03 04:00 1']],
  [`'1 day', '2024-03-10', '2024-03-11', '${zone}', '02:30', '04:00'`, ['03-10 07:00 1']],
])('begins when clocks have skipped its beginning: %s', async (rest, expected) => {
  const [bucket, first, ending, place, opens = 'null', closes = 'null'] = rest.split(', ');
  const sql = `select to_char(begins, 'MM-DD HH24:MI ') || trim_scale(extract(epoch from ends - begins) / 3600)
        from tidemark.bucket_bounds(${bucket}, ${place}, ${opens}, ${closes}, ${first}, ${ending})`;
  expect(await rows(sql)).toEqual(expected);
});

it('has the same sessions whatever the time zone of the caller is', async () => {
  const call = `ohlcv_by('x', 'spring', 'tether', '1 day', '2024-03-09Z', '2024-03-12Z', 'UTC', session_from => '00:00')`;
  const sql = `select to_char(time at time zone 'UTC', 'DD'), ends - time, points, derived_from from ${call}`;
  expect(await rows(sql)).toHaveLength(3);
  expect((await ask(store.url, sql, zone)).rows).toEqual(await rows(sql));
});

it.each([
  [`'1 month 1 day'`, 'a bucket is a number of months'],
  [`'1 day', zone => null`, 'zone must be given'],
  [`'1 day', session_to => '16:00'`, 'session_from must be given'],
  [`'7 minutes'`, 'no tracked interval of x year/tether fits'],
  [`'1 day', zone => 'Mars'`, 'time zone "Mars" not recognized'],
  [`'1 month', session_from => '09:00'`, 'a bucket of sessions is at most one day'],
  [`'1 second'`, 'has more than 5000000 buckets'],
])('refuses %s', async (rest, words) => {
  await expect(ask(store.url, `select * from ohlcv_by('x', 'year', 'tether', ${rest})`)).rejects.toThrow(
    words,
  );
});
