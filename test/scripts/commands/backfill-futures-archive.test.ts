import { describe, expect, it } from 'vitest';
import { datasets, type MarketDataset } from '../../../model/datasets/index.ts';
import { dayMs, type EpochMs, type Interval, intervalMs, type Range } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { fundingEvents, perpetualCandle, positionsAt, premiumAt } from '../../../simulator/derivatives.ts';
import type { Faults } from '../../../simulator/faults/faults.ts';
import type { RunningVenueSimulator } from '../../../simulator/venues/start.ts';
import type { VenueName } from '../../../simulator/venues/venue.ts';
import type { Candle } from '../../../v2/resources.ts';
import { storedPoints } from '../../pipeline/stored.ts';
import { openInterestOf } from './open-interest-truth.ts';
import { openVenues } from './watch-list-parts.ts';

type Rest = 'binance-usdm' | 'binance-usdm-funding' | 'binance-usdm-data' | 'bybit-linear' | 'okx-swap';

const archives = {
  ...{ 'binance-usdm': 'binance-usdm-archive', 'binance-usdm-funding': 'binance-usdm-archive' },
  ...{ 'binance-usdm-data': 'binance-usdm-archive-daily', 'bybit-linear': null, 'okx-swap': null },
} as const satisfies Record<Rest, VenueName | null>;

/** A source beside its archive, with the same faults, or without one. */
async function open(
  source: Rest,
  {
    hasArchive = true,
    faults = {},
    beside = [],
  }: { hasArchive?: boolean; faults?: Partial<Faults>; beside?: readonly Rest[] } = {},
) {
  const archive = hasArchive ? archives[source] : null;
  const opened = await openVenues([source, ...(archive === null ? [] : [archive]), ...beside], { faults });
  if (archive !== null) opened.list({ [source]: `, archive: ${archive}` } as Record<Rest, string>);
  const venues: Readonly<Record<string, RunningVenueSimulator>> = opened.venues;
  const requestsOf = (name: string, part: RegExp) =>
    venues[name]?.requests().recent.flatMap(({ url }) => part.exec(url)?.[1] ?? []) ?? [];
  return {
    ...opened,
    rest: venues[source],
    backfill: (dataset: MarketDataset, interval: Interval, { startMs, endMs }: Range, how = '') => {
      const [from, to] = [startMs, endMs].map((timeMs) => new Date(timeMs).toISOString());
      const market = `--source ${source} --symbol BTC/USDT:USDT --interval ${interval}`;
      return opened.run(`backfill ${datasets[dataset].word} ${market} --from ${from} --to ${to} --json${how}`);
    },
    stored: (dataset: MarketDataset, interval: Interval) =>
      storedPoints(opened.database, {
        ...({ dataset, interval, exchange: source.split('-')[0], baseId: 'BTC', quoteId: 'USDT:USDT' } as SeriesKey),
      }),
    files: () => requestsOf(archives[source] ?? '', /(\d{4}-\d\d(?:-\d\d)?)\.zip$/).sort(),
    asked: () => requestsOf(source, /(?:fapi|futures)\/\w+\/(\w+)\?/).filter((path) => path !== 'exchangeInfo'),
  };
}

const times = ({ startMs, endMs }: Range, interval: Interval): EpochMs[] =>
  Array.from({ length: (endMs - startMs) / intervalMs[interval] }, (_, at) => startMs + at * intervalMs[interval]);

const daysBetween = (startMs: EpochMs, endMs: EpochMs) =>
  Array.from({ length: (endMs - startMs) / dayMs }, (_, at) =>
    new Date(startMs + at * dayMs).toISOString().slice(0, 10),
  );

const months = { startMs: Date.UTC(2023, 11, 1), endMs: Date.UTC(2024, 2, 1) };
const monthNames = ['2023-12', '2024-01', '2024-02'];
/** Files of days that end with the time after their day, and files that begin with that of their own. */
const changing = { startMs: Date.UTC(2026, 5, 23), endMs: Date.UTC(2026, 7, 12) };
const changingNames = daysBetween(changing.startMs - dayMs, changing.endMs);
const doubled = { startMs: Date.UTC(2020, 11, 31), endMs: Date.UTC(2021, 0, 3) };
const doubledNames = daysBetween(doubled.startMs - dayMs, doubled.endMs);
const spot = { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval: 'h4' } as const;
const ofSpot = (rest: RunningVenueSimulator | undefined) => rest?.truth.candles(spot, months) ?? [];
const traded = (row: Candle) => perpetualCandle('BTCUSDT', row);
const withoutVolume = ({ volume: _, ...prices }: Candle) => prices;

type Case = readonly [
  ...[dataset: MarketDataset, source: Rest, interval: Interval, range: Range, files: readonly string[]],
  truth: (rest: RunningVenueSimulator | undefined) => object[],
];

const events = (range: Range) =>
  fundingEvents('BTCUSDT', range).map(({ timeMs, statedMs, intervalHours, rate }) => ({
    ...{ time: timeMs, rate, intervalHours: String(intervalHours), markPrice: expect.any(String) },
    delayMs: String(statedMs - timeMs),
  }));
const openInterest = (rest: RunningVenueSimulator | undefined, range: Range) =>
  rest === undefined ? [] : openInterestOf(rest, range, 'm5');

/** What files lack is requested once more, where REST has it. */
const withoutMark = { startMs: Date.UTC(2023, 8, 1), endMs: Date.UTC(2023, 10, 1) };

const cases: readonly Case[] = [
  ['candles', 'binance-usdm', 'h4', months, monthNames, (rest) => ofSpot(rest).map(traded)],
  ['mark_candles', 'binance-usdm', 'h4', months, monthNames, (rest) => ofSpot(rest).map(traded).map(withoutVolume)],
  ['index_candles', 'binance-usdm', 'h4', months, monthNames, (rest) => ofSpot(rest).map(withoutVolume)],
  [
    ...(['premium_candles', 'binance-usdm', 'h4', months, monthNames] as const),
    () => times(months, 'h4').map((period) => ({ period, ...premiumAt('BTCUSDT', period) })),
  ],
  ['funding_rates', 'binance-usdm-funding', 'h1', months, monthNames, () => events(months)],
  [
    ...(['funding_rates', 'binance-usdm-funding', 'h1', withoutMark, ['2023-09', '2023-10']] as const),
    () => events(withoutMark).map((event) => ({ ...event, markPrice: null })),
  ],
  ['open_interest', 'binance-usdm-data', 'm5', changing, changingNames, (rest) => openInterest(rest, changing)],
  ['open_interest', 'binance-usdm-data', 'm5', doubled, doubledNames, (rest) => openInterest(rest, doubled)],
  [
    ...(['long_short_ratios', 'binance-usdm-data', 'm5', changing, changingNames] as const),
    () =>
      times(changing, 'm5').map((time) => {
        const { ratio } = positionsAt('BTCUSDT', time);
        const shares = { longShare: null, shortShare: null };
        return { time, ratio, ...shares, topAccountsRatio: ratio, topPositionsRatio: ratio, takerRatio: ratio };
      }),
  ],
];

it.each(cases)('%s of %s from its files, each once, and nothing a second time', async (...one) => {
  const [dataset, source, interval, range, names, truth] = one;
  const { backfill, stored, files, asked, rest } = await open(source);
  const planned = JSON.parse((await backfill(dataset, interval, range, ' --dry-run')).stdout);
  const done = await backfill(dataset, interval, range);
  expect(done).toMatchObject({ exitCode: 0, stderr: '' });
  // One more may look for the beginning of the series.
  expect([0, 1]).toContain(JSON.parse(done.stdout).requests - planned.requests);
  expect(await stored(dataset, interval)).toEqual(truth(rest));
  expect(files()).toEqual(names);
  // REST shows that the series has begun before, where it still has that time.
  expect(asked().length).toBeLessThanOrEqual(2);
  const before = asked().length;
  const again = await backfill(dataset, interval, range);
  expect(JSON.parse(again.stdout)).toMatchObject({ requests: 0, points: 0 });
  expect([files(), asked().length]).toEqual([names, before]);
});

describe('funding that the venue lacks, gives twice or states late', () => {
  const january = { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 1, 1) };
  /** The newest range with the same intervals, which come again every forty days. */
  const laterMs = Math.floor((Date.now() - january.endMs) / (40 * dayMs)) * 40 * dayMs;
  const lately = { startMs: january.startMs + laterMs, endMs: january.endMs + laterMs };
  const timesOf = (range: Range) => fundingEvents('BTCUSDT', range).map(({ timeMs }) => timeMs);
  const places = [0, 40, -1] as const;
  /** The first event after the interval has become shorter. */
  const changed = fundingEvents('BTCUSDT', january).findIndex(({ intervalHours }) => intervalHours === 4);

  const faulty = [
    ...places.map((place) => ['missingPoints', place] as const),
    ...([
      ['doubledEvents', 40],
      ['shiftedEvents', 40],
    ] as const),
  ];

  it.each([
    // Without the intervals of the files it seems that the interval changes later.
    ...[...faulty, ['missingPoints', changed] as const].map((one) => ['binance-usdm-funding', true, ...one] as const),
    ...faulty.map((one) => ['binance-usdm-funding', false, ...one] as const),
    ...faulty.map((one) => ['bybit-linear', false, ...one] as const),
    ...faulty.map((one) => ['okx-swap', false, ...one] as const),
  ])('of %s, with files: %s, %s of event %i', async (source, hasArchive, fault, place) => {
    // OKX keeps three months.
    const range = source === 'okx-swap' ? lately : january;
    const all = timesOf(range);
    const timeMs = all.at(place) ?? 0;
    const opened = await open(source, { hasArchive, faults: { [fault]: [timeMs] } });
    const { backfill, stored, query, run, say, venues } = opened;
    expect(await backfill('funding_rates', 'h1', range)).toMatchObject({
      // Rejected rows alone have an exit of their own.
      exitCode: fault === 'shiftedEvents' ? 10 : 3,
    });
    const kept = (await stored('funding_rates', 'h1')) as readonly { readonly time: EpochMs }[];
    expect(kept.map(({ time }) => time)).toEqual(all.filter((time) => time !== timeMs));
    const at = new Date(timeMs).toISOString();
    const [covered] = await query('select covered @> $1::timestamptz as "isCovered" from tidemark.series', [at]);
    const quarantined = await query(
      `select from tidemark.quarantine where time between $1::timestamptz and $1::timestamptz + interval '30 min'`,
      [at],
    );
    // A gap, or a row with its reason.
    expect([covered?.isCovered === false, quarantined.length > 0]).toEqual([
      ...(fault === 'missingPoints' ? [true, false] : [expect.any(Boolean), true]),
    ]);
    // Once the venue has it, another request gives it, or `verify` names it and `repair` stores it.
    for (const venue of Object.values(venues)) venue.setFaults({});
    await run('retry');
    const again = await backfill('funding_rates', 'h1', range);
    const isRejected = again.exitCode === 10;
    expect(again.exitCode).toBe(isRejected && fault === 'shiftedEvents' ? 10 : 0);
    const verified = await run('verify 1 --json');
    expect(verified.exitCode).toBe(isRejected ? 7 : 0);
    expect(JSON.parse(verified.stdout)).toMatchObject({ windows: 1, compared: 1, unbounded: 0 });
    await say('repair');
    const rates = (points: object[]) => points.map((point) => ({ ...point, markPrice: null, intervalHours: null }));
    expect(rates(await stored('funding_rates', 'h1'))).toEqual(
      hasArchive
        ? rates(events(range))
        : rates(events(range)).map((event) => ({ ...event, delayMs: expect.any(String) })),
    );
  });

  it.each(places)('are filled from an archive that is added later: event %i', async (place) => {
    const all = timesOf(january);
    const opened = await open('binance-usdm-funding');
    const { backfill, stored, venues, list, files } = opened;
    list();
    venues['binance-usdm-funding']?.setFaults({ missingPoints: [all.at(place) ?? 0] });
    expect(await backfill('funding_rates', 'h1', january)).toMatchObject({ exitCode: 3 });
    list({ 'binance-usdm-funding': ', archive: binance-usdm-archive' });
    expect(await backfill('funding_rates', 'h1', january)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(files()).toEqual(['2024-01']);
    const kept = (await stored('funding_rates', 'h1')) as readonly { readonly time: EpochMs }[];
    expect(kept.map(({ time }) => time)).toEqual(all);
  });

  it('is found by a comparison with the archive where the distances hide it, and repaired once that is a source', async () => {
    const all = timesOf(january);
    const opened = await open('binance-usdm-funding');
    const { backfill, stored, venues, list, run, say, json } = opened;
    list();
    venues['binance-usdm-funding']?.setFaults({ missingPoints: [all.at(changed) ?? 0] });
    expect(await backfill('funding_rates', 'h1', january)).toMatchObject({ exitCode: 0 });
    const compare = () => run('verify 1 --against binance-usdm-archive --json');
    const missing = { kind: 'missing_here', time: new Date(all.at(changed) ?? 0).toISOString() };
    const { exitCode, stdout } = await compare();
    expect([exitCode, JSON.parse(stdout).differences]).toEqual([
      7,
      expect.arrayContaining([expect.objectContaining(missing)]),
    ]);
    expect(await say('repair')).toMatch(/binance-usdm-archive has 1 point that is not stored: kept so/);
    list({ 'binance-usdm-funding': ', archive: binance-usdm-archive' });
    expect(await backfill('funding_rates', 'h1', january)).toMatchObject({ exitCode: 0 });
    expect(await run('repair --json')).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('backfill') });
    expect(await json('gaps')).toMatchObject({ gaps: [{ start: missing.time }] });
    expect(await backfill('funding_rates', 'h1', january)).toMatchObject({ exitCode: 0 });
    const kept = (await stored('funding_rates', 'h1')) as readonly { readonly time: EpochMs }[];
    expect(kept.map(({ time }) => time)).toEqual(all);
    expect(await say('repair')).toMatch(/no known differences/);
  });
});

it('an event that a source no longer has is removed when repair is told to, as one that came late', async () => {
  const { backfill, stored, json, run, query } = await open('bybit-linear', { hasArchive: false });
  await backfill('funding_rates', 'h1', months);
  const truth = await stored('funding_rates', 'h1');
  await query(`insert into tidemark.funding_rate_points (series_id, time, rate)
               select series_id, time + interval '2 hours', rate from tidemark.funding_rate_points
               where time = '2024-01-10 08:00Z'`);
  await query('update tidemark.series set points = points + 1');
  expect(await run('verify 1 --all')).toMatchObject({ exitCode: 7 });
  expect(await run('repair 1')).toMatchObject({ exitCode: 7, stderr: expect.stringContaining('--remove-absent') });
  expect(await json('repair 1 --remove-absent')).toMatchObject({ removed: 1, remaining: [] });
  expect(await json('gaps')).toMatchObject({ gaps: [{ start: '2024-01-10T10:00:00.000Z' }] });
  expect(await backfill('funding_rates', 'h1', months)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await stored('funding_rates', 'h1')).toEqual(truth);
  expect(await json('verify 1 --all')).toMatchObject({ points: truth.length, differing: 0 });
});

it('an event that another source of the series gave is not removed', async () => {
  const { backfill, stored, run, venues } = await open('binance-usdm-funding');
  const timeMs = events(months)[40]?.time ?? 0;
  venues['binance-usdm-funding'].setFaults({ missingPoints: [timeMs] });
  await backfill('funding_rates', 'h1', months);
  const before = await stored('funding_rates', 'h1');
  expect(before).toHaveLength(events(months).length);
  expect(await run('verify 1')).toMatchObject({ exitCode: 7 });
  const kept = { exitCode: 7, stderr: expect.stringContaining('DIFFERENCES_REMAIN') };
  expect(await run('repair 1 --remove-absent')).toMatchObject(kept);
  expect(await stored('funding_rates', 'h1')).toEqual(before);
});

it('mark prices that REST does not give are requested again later, and not at once', async () => {
  const { backfill, stored, query, run, venues } = await open('binance-usdm-funding');
  venues['binance-usdm-funding'].setFaults({ emptyRate: 1 });
  const stderr = expect.stringContaining('binance-usdm-funding did not give values that files lack');
  expect(await backfill('funding_rates', 'h1', months)).toMatchObject({ exitCode: 0, stderr });
  const rereads = async () => (await query(`select from tidemark.fetches where lane = 'reread'`)).length;
  expect([await rereads(), (await stored('funding_rates', 'h1')).length]).toEqual([1, events(months).length]);
  venues['binance-usdm-funding'].setFaults({});
  await run('retry');
  expect(await backfill('funding_rates', 'h1', months)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await stored('funding_rates', 'h1')).toEqual(events(months));
  expect(await rereads()).toBe(2);
});

it('verify finds no difference where a file lacks a mark price, and names each other one with the values that there are', async () => {
  // Before it is known by REST.
  const range = { startMs: Date.UTC(2023, 8, 1), endMs: Date.UTC(2023, 9, 1) };
  const { backfill, json, run, venues } = await open('binance-usdm-funding');
  await backfill('funding_rates', 'h1', range);
  const count = events(range).length;
  expect(await json('verify 1')).toMatchObject({ points: count, differing: 0, rewritten: 0 });
  const timeMs = events(range)[40]?.time ?? 0;
  venues['binance-usdm-funding'].setFaults({ missingPoints: [timeMs] });
  const { exitCode, stdout } = await run('verify 1 --json');
  const there = { kind: 'missing_there', time: new Date(timeMs).toISOString(), there: null };
  expect([exitCode, JSON.parse(stdout).differences]).toMatchObject([
    ...[7, [{ ...there, here: { interval_hours: '8', mark_price: null } }]],
  ]);
});

it('verify --against compares no delays, which are those of each source', async () => {
  const { backfill, json, query, run } = await open('binance-usdm-funding', { beside: ['bybit-linear'] });
  await backfill('funding_rates', 'h1', months);
  expect(await query('select from tidemark.funding_rate_points where delay_ms > 0')).not.toEqual([]);
  const same = { points: events(months).length, differing: 0, rewritten: 0, differences: [] };
  expect(await json('verify 1 --all --against bybit-linear')).toMatchObject(same);
  await query(`update tidemark.funding_rate_points set rate = 9 where time = '2024-01-01'`);
  const { exitCode, stdout } = await run('verify 1 --all --against bybit-linear --json');
  const there = { kind: 'changed', here: { rate: '9' } };
  expect([exitCode, JSON.parse(stdout).differences]).toMatchObject([7, [there]]);
});

it('what is older than thirty days is a gap with this reason, and with an archive nothing is', async () => {
  const todayMs = Math.floor(Date.now() / dayMs) * dayMs;
  const range = { startMs: todayMs - 40 * dayMs, endMs: todayMs - dayMs };
  const alone = await open('binance-usdm-data', { hasArchive: false });
  expect(await alone.backfill('open_interest', 'm5', range)).toMatchObject({
    ...{ exitCode: 3, stderr: expect.stringContaining('binance-usdm-data keeps the newest 30 d') },
  });
  const { gaps } = await alone.json<{ gaps: { start: string; end: string; reason: string }[] }>('gaps');
  expect(gaps).toMatchObject([{ start: new Date(range.startMs).toISOString(), reason: 'failed' }]);
  const lostMs = Date.parse(gaps[0]?.end ?? '') - range.startMs;
  expect(lostMs).toBeGreaterThan(10 * dayMs);
  expect(lostMs).toBeLessThan(11 * dayMs + 30 * 60_000);
  const kept = { startMs: range.startMs + lostMs, endMs: range.endMs };
  expect(await alone.stored('open_interest', 'm5')).toEqual(openInterest(alone.rest, kept));

  // Not running for longer than that loses no more than the time between.
  const paused = await open('binance-usdm-data');
  const before = { startMs: todayMs - 43 * dayMs, endMs: range.startMs };
  expect(await paused.backfill('open_interest', 'm5', before)).toMatchObject({ exitCode: 0, stderr: '' });
  paused.list();
  const since = { startMs: before.startMs, endMs: range.endMs };
  expect(await paused.backfill('open_interest', 'm5', since)).toMatchObject({ exitCode: 3 });
  const { gaps: lost } = await paused.json<{ gaps: { end: string }[] }>('gaps');
  const message = expect.stringContaining('keeps the newest 30 d');
  expect(lost).toMatchObject([{ start: new Date(range.startMs).toISOString(), message }]);
  const after = { startMs: Date.parse(lost[0]?.end ?? ''), endMs: range.endMs };
  expect(await paused.stored('open_interest', 'm5')).toEqual(
    [before, after].flatMap((one) => openInterest(paused.rest, one)),
  );

  const both = await open('binance-usdm-data');
  expect(await both.backfill('open_interest', 'm5', range)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await both.stored('open_interest', 'm5')).toEqual(openInterest(both.rest, range));
});

it('what neither the archive nor REST gives has the reason of the archive, in each command', async () => {
  const todayMs = Math.floor(Date.now() / dayMs) * dayMs;
  // All of it is older than REST keeps, at any time of the day.
  const range = { startMs: todayMs - 43 * dayMs, endMs: todayMs - 31 * dayMs };
  const { backfill, json, run, venues } = await open('binance-usdm-data');
  venues['binance-usdm-archive-daily'].setFaults({ badFileRate: 0.7 });
  const refused = { exitCode: 3, stderr: expect.stringContaining('failed at binance-usdm-archive-daily: GET ') };
  expect(await backfill('open_interest', 'm5', range)).toMatchObject(refused);
  const { gaps } = await json<{ gaps: { start: string; end: string }[] }>('gaps');
  const message = expect.stringMatching(/^GET .*; binance-usdm-data keeps the newest 30 d/);
  const reason = { reason: 'failed', cause: 'not_elsewhere', source: 'binance-usdm-archive-daily', message };
  expect(gaps).toMatchObject(gaps.map(() => reason));
  const missing = gaps.reduce((sum, { start, end }) => sum + Date.parse(end) - Date.parse(start), 0) / 1000;
  expect(missing).toBeGreaterThan(0);
  const plan = await json('plan');
  expect(plan).toMatchObject({ laterRequests: plan.requests, datasets: [{ missingSeconds: missing }] });
  const parts = { missingSeconds: missing, failedSeconds: missing, awaitingSeconds: 0 };
  expect(await json('status')).toMatchObject({ series: [parts] });
  // The files are mended.
  venues['binance-usdm-archive-daily'].setFaults({});
  await run('retry');
  expect(await backfill('open_interest', 'm5', range)).toMatchObject({ exitCode: 0, stderr: '' });
});
