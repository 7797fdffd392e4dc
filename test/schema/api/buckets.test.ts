import { beforeAll, expect, it } from 'vitest';
import { dayMs, intervalMs } from '../../../model/intervals.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { ask, rowsIn, storeLine } from './price-line.ts';

const zone = 'America/New_York';
const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  // The numbers of hours or minutes since the beginning, and every second one down from 9,000 instead.
  const line = (count: number) => Array.from({ length: count }, (_, place) => `${place % 2 ? 9000 - place : place}.50`);
  // Two days of the year are not covered.
  for (const [base, interval, startMs, days] of [
    ['year', 'h1', Date.UTC(2023, 11, 28), 370],
    // Around the days on which clocks in New York go forward and back.
    ['spring', 'm1', Date.UTC(2024, 2, 9), 3],
    ['autumn', 'm1', Date.UTC(2024, 10, 2), 3],
  ] as const) {
    const count = (days * dayMs) / intervalMs[interval];
    await storeLine(store.database, {
      key: market(base, interval),
      ...{ startMs, endMs: startMs + days * dayMs, volume: '0.250' },
      prices: line(count).map((price, hour) => (base === 'year' && hour >= 2400 && hour < 2448 ? null : price)),
      covered:
        base === 'year'
          ? [
              [0, 2400],
              [2448, count],
            ]
          : [[0, count]],
    });
  }
});

/** Of a call: begin, open, high, low, close, volume, length in hours, and the covered share where it is not whole. */
const buckets = (base: string, rest: string) =>
  rows(`select to_char(time, 'MM-DD HH24:MI'), open, high, low, close, volume,
               trim_scale(extract(epoch from ends - time) / 3600) || case coverage when 1 then '' else ' ' || coverage end
        from ohlcv_by('x', '${base}', 'tether', ${rest})`);
const source = (base: string, rest: string) =>
  rows(`select distinct derived_from from ohlcv_by('x', '${base}', 'tether', ${rest})`);

it('days of a time zone, of 23 and of 25 hours', async () => {
  const days = (from: string, to: string) => buckets('year', `'1 day', '${from}', '${to}', zone => '${zone}'`);
  expect(await days('2024-03-09 05:00Z', '2024-03-11 05:00Z')).toEqual([
    '03-09 05:00 | 7267.50 | 7267.50 | 1734.50 | 1756.50 | 6.000 | 24',
    '03-10 05:00 | 7243.50 | 7243.50 | 1758.50 | 7221.50 | 5.750 | 23',
    '03-11 04:00 | 1780.50 | 7219.50 | 1780.50 | 7197.50 | 6.000 | 24',
  ]);
  expect(await days('2024-11-03 04:00Z', '2024-11-04 06:00Z')).toEqual([
    '11-03 04:00 | 7468.50 | 7492.50 | 1509.50 | 7492.50 | 6.250 | 25',
    '11-04 05:00 | 1507.50 | 7516.50 | 1485.50 | 7516.50 | 6.000 | 24',
  ]);
  expect(await days('2024-04-05 04:00Z', '2024-04-07 05:00Z')).toEqual([
    '04-05 04:00 | 2380.50 | 6619.50 | 2380.50 | 6601.50 | 5.000 | 24 0.833333',
    '04-06 04:00 | - | - | - | - | - | 24 0',
    '04-07 04:00 | 2448.50 | 6551.50 | 2448.50 | 6549.50 | 1.000 | 24 0.166666',
  ]);
  expect(await source('year', `'1 day', '2024-03-09Z', '2024-03-11Z', zone => '${zone}'`)).toEqual(['h1']);
});

it('calendar months, of a time zone and of UTC', async () => {
  const of = (length: string, more = '') => buckets('year', `'${length}', '2024-01-15Z', '2024-05-01Z'${more}`);
  expect(await of('1 month', `, zone => '${zone}'`)).toEqual([
    '02-01 05:00 | 8155.50 | 8155.50 | 846.50 | 1540.50 | 174.000 | 696',
    '03-01 05:00 | 7459.50 | 7459.50 | 1542.50 | 6717.50 | 185.750 | 743',
    '04-01 04:00 | 2284.50 | 6715.50 | 2284.50 | 5997.50 | 168.000 | 720 0.933333',
  ]);
  expect(await of('1 month')).toEqual([
    '02-01 00:00 | 840.50 | 8159.50 | 840.50 | 7465.50 | 174.000 | 696',
    '03-01 00:00 | 1536.50 | 7463.50 | 1536.50 | 6721.50 | 186.000 | 744',
    '04-01 00:00 | 2280.50 | 6719.50 | 2280.50 | 6001.50 | 168.000 | 720 0.933333',
  ]);
  expect(await source('year', `'1 month', '2024-01-01Z', '2024-04-01Z'`)).toEqual(['d1']);
});

it('without a beginning, the first bucket is that in which the data begin, also of sessions over midnight', async () => {
  expect(await buckets('year', `'1 year'`)).toEqual([
    '01-01 00:00 | 0.50 | 8999.50 | 0.50 | 8905.50 | 24.000 | 8760 0.010958',
    '01-01 00:00 | 96.50 | 8903.50 | 96.50 | 121.50 | 2184.000 | 8784 0.994535',
  ]);
  expect(await buckets('spring', `'1 day', zone => '${zone}', session_from => '17:00'`)).toEqual([
    '03-08 22:00 | 0.50 | 8999.50 | 0.50 | 7681.50 | 330.000 | 24 0.916666',
    '03-09 22:00 | 1320.50 | 7679.50 | 1320.50 | 6301.50 | 345.000 | 23',
    '03-10 21:00 | 2700.50 | 6299.50 | 2700.50 | 4861.50 | 360.000 | 24',
    '03-11 21:00 | 4140.50 | 4859.50 | 4140.50 | 4681.50 | 45.000 | 24 0.125',
  ]);
});

it('seven minutes, which divide no day, count on', async () => {
  const all = await buckets('spring', `'7 minutes'`);
  // 618 of them fit, and the first and the last one are not whole.
  expect([all.length, ...all.slice(0, 2), all.at(-1)]).toEqual([
    618,
    '03-08 23:56 | 0.50 | 8999.50 | 0.50 | 2.50 | 0.750 | 0.11666666666666666667 0.428571',
    '03-09 00:03 | 8997.50 | 8997.50 | 4.50 | 8991.50 | 1.750 | 0.11666666666666666667',
    '03-11 23:55 | 4685.50 | 4685.50 | 4316.50 | 4681.50 | 1.250 | 0.11666666666666666667 0.714285',
  ]);
});

it('hours that divide the day begin with each day', async () => {
  const range = `'2024-11-03 04:00Z', '2024-11-04 05:00Z'`;
  expect(await buckets('autumn', `'6 hours', ${range}, zone => '${zone}'`)).toEqual([
    '11-03 04:00 | 1680.50 | 7319.50 | 1680.50 | 6961.50 | 90.000 | 6',
    '11-03 10:00 | 2040.50 | 6959.50 | 2040.50 | 6601.50 | 90.000 | 6',
    '11-03 16:00 | 2400.50 | 6599.50 | 2400.50 | 6241.50 | 90.000 | 6',
    '11-03 22:00 | 2760.50 | 6239.50 | 2760.50 | 5881.50 | 90.000 | 6',
    '11-04 04:00 | 3120.50 | 5879.50 | 3120.50 | 5821.50 | 15.000 | 1',
  ]);
});

it('sessions of a day, whole and in parts', async () => {
  const range = `'2024-03-09Z', '2024-03-12Z', '${zone}'`;
  expect(await buckets('spring', `'1 day', ${range}, '09:30', '16:00'`)).toEqual([
    '03-09 14:30 | 870.50 | 8129.50 | 870.50 | 7741.50 | 97.500 | 6.5',
    '03-10 13:30 | 2250.50 | 6749.50 | 2250.50 | 6361.50 | 97.500 | 6.5',
    '03-11 13:30 | 3690.50 | 5309.50 | 3690.50 | 4921.50 | 97.500 | 6.5',
  ]);
  expect(await buckets('spring', `'4 hours', ${range}, '09:30', '16:00'`)).toEqual([
    '03-09 14:30 | 870.50 | 8129.50 | 870.50 | 7891.50 | 60.000 | 4',
    '03-09 18:30 | 1110.50 | 7889.50 | 1110.50 | 7741.50 | 37.500 | 2.5',
    '03-10 13:30 | 2250.50 | 6749.50 | 2250.50 | 6511.50 | 60.000 | 4',
    '03-10 17:30 | 2490.50 | 6509.50 | 2490.50 | 6361.50 | 37.500 | 2.5',
    '03-11 13:30 | 3690.50 | 5309.50 | 3690.50 | 5071.50 | 60.000 | 4',
    '03-11 17:30 | 3930.50 | 5069.50 | 3930.50 | 4921.50 | 37.500 | 2.5',
  ]);
});

// On 10 March clocks go from 02:00 to 03:00.
it.each([
  ['1 day', '02:00'],
  ['15 minutes', '02:30'],
])('has no session of %s from %s on a day that skips it', async (bucket, opens, closes = '03:00') => {
  const range = `'2024-03-09Z', '2024-03-12Z', '${zone}', '${opens}', '${closes}'`;
  const days = await rows(
    `select distinct time::date, ends > time from ohlcv_by('x', 'spring', 'tether', '${bucket}', ${range}) order by 1`,
  );
  expect(days).toEqual(['2024-03-09 | t', '2024-03-11 | t']);
});

// Clocks go back at 01:00 in Havana, at 02:00 in New York, at 03:00 in Berlin.
it.each([
  [`'1 day', '2023-11-04', '2023-11-07', 'America/Havana'`, ['11-04 04:00 24', '11-05 04:00 25', '11-06 05:00 24']],
  [`'1 month', '2023-11-01', '2023-12-01', 'America/Havana'`, ['11-01 04:00 721']],
  [`'1 day', '2023-10-29', '2023-10-30', 'Europe/Berlin', '02:30', '22:00'`, ['10-29 00:30 20.5']],
  [`'1 day', '2023-11-05', '2023-11-06', '${zone}', '01:00', '02:00'`, ['11-05 05:00 2']],
  [`'1 day', '2023-11-04', '2023-11-06', '${zone}', '01:30', '01:15'`, ['11-04 05:30 23.75', '11-05 05:30 24.75']],
])('begins and ends at the first of a repeated hour: %s', async (rest, expected) => {
  const columns = `to_char(time, 'MM-DD HH24:MI ') || trim_scale(extract(epoch from ends - time) / 3600)`;
  const sql = `select ${columns} from ohlcv_by('x', 'autumn', 'tether', ${rest})`;
  expect(await rows(sql)).toEqual(expected);
});

// Samoa skipped a day; Santiago skips an hour from midnight on, New York one from 02:00 on.
it.each([
  [`'1 day', '2011-12-29 10:00Z', '2011-12-31 10:00Z', 'Pacific/Apia'`, ['12-29 10:00 24', '12-30 10:00 24']],
  [`'1 day', '2023-09-02 04:00Z', '2023-09-04 03:00Z', 'America/Santiago'`, ['09-02 04:00 24', '09-03 04:00 23']],
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
  [`'7 minutes'`, 'no tracked interval of x year/tether fits'],
  [`'1 day', zone => 'Mars'`, 'time zone "Mars" not recognized'],
  [`'1 month', session_from => '09:00'`, 'a bucket of sessions is at most one day'],
  [`'1 second'`, 'has more than 5000000 buckets'],
])('refuses %s', async (rest, words) => {
  await expect(ask(store.url, `select * from ohlcv_by('x', 'year', 'tether', ${rest})`)).rejects.toThrow(words);
});

it('without a beginning, begins where an interval begins that fits, and not with a longer one', async () => {
  const startMs = Date.UTC(2024, 0, 1);
  await storeLine(store.database, {
    key: market('late', 'd1'),
    ...{ startMs, endMs: startMs + 30 * dayMs, volume: '1' },
    prices: Array.from({ length: 30 }, () => '1'),
    covered: [[0, 30]],
  });
  await storeLine(store.database, {
    key: market('late', 'm1'),
    ...{ startMs: startMs + 29 * dayMs, endMs: startMs + 30 * dayMs, volume: '1' },
    prices: Array.from({ length: 1440 }, () => '2'),
    covered: [[0, 1440]],
  });
  expect(
    await rows(`select count(*), to_char(min(time), 'MM-DD HH24:MI'), to_char(max(ends), 'MM-DD HH24:MI')
                from ohlcv_by('x', 'late', 'tether', '8 minutes')`),
  ).toEqual(['180 | 01-30 00:00 | 01-31 00:00']);
  // Days have them all.
  expect(await rows(`select count(*) from ohlcv_by('x', 'late', 'tether', '1 day')`)).toEqual(['30']);
});
