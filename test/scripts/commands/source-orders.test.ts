import { expect, it, onTestFinished } from 'vitest';
import { hourMs } from '../../../model/intervals.ts';
import { userAtHost } from '../../../scripts/input/asked-by.ts';
import { startVenueSimulator } from '../../../simulator/venues/start.ts';
import { changeRefusal, readRefusedUntil } from '../../../store/settings/source-refusal.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs } from '../command.ts';
import { openVenues } from './watch-list-parts.ts';

const tracking = (source: string, interval = 'm1') =>
  `candles --source ${source} --symbol BTC/USDT --interval ${interval} --from 2024-03-01 --to 2024-03-03`;

interface Source {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly paused: object | null;
  readonly lowered: object | null;
}

async function open() {
  const opened = await openVenues(['binance', 'bybit']);
  return {
    ...opened,
    async source(name: string) {
      const { sources } = await opened.json<{ sources: readonly Source[] }>('sources');
      return sources.find((one) => one.name === name);
    },
    async covered(exchange: string, interval = 'm1'): Promise<boolean> {
      const rows = await opened.query(
        `select 1 from tidemark.series where exchange_id = $1 and interval = $2 and covered @> tracked::tstzmultirange`,
        [exchange, interval],
      );
      return rows.length === 1;
    },
  };
}

it(
  'a paused source gets no request while another one goes on, also after a restart, and goes on when resumed',
  async () => {
    const { begin, say, fails, json, venues, source, covered } = await open();
    await say('sources pause bybit');
    await fails('markets --source bybit', 6, 'PAUSED: requests to bybit are paused since');
    await say('sources resume bybit');
    await say(`track ${tracking('binance')}`);
    // Of its list of markets.
    const before = venues.binance.requests().total;
    await fails('sources pause binanc', 2, 'no source is named "binanc": did you mean "binance"?');
    expect(await say('sources pause binance')).toMatch(/^binance is paused: .*`tidemark sources resume binance`/);
    expect(await say('sources pause binance')).toBe('binance was paused before\n');
    expect(await say('sources')).toMatch(/^binance .* paused since 20/m);
    expect((await source('binance'))?.paused).toEqual({ since: expect.any(String), by: userAtHost() });
    expect((await source('bybit'))?.paused).toBeNull();
    for (const interval of ['m1', 'h1']) {
      await say(`track ${tracking('bybit', interval)}`);
      const running = begin('run --no-serve');
      await waitFor('the other source to be complete', () => covered('bybit', interval));
      running.kill('SIGTERM');
      expect(await running.ended).toMatchObject({ exitCode: 0 });
    }
    expect(venues.binance.requests().total).toBe(before);
    const text = expect.stringMatching(/^requests to binance are paused since 20/);
    const held = { kind: 'source_paused', level: 'waiting', text, command: 'tidemark sources resume binance' };
    const status = await json<{ headline: object; also: object[] }>('status');
    expect([status.headline, ...status.also]).toContainEqual(expect.objectContaining(held));
    expect(await say('status')).toMatch(/^source binance: .*, paused since 20/m);
    const refused = /PAUSED: .*requests to binance are paused .*`tidemark sources resume binance` goes on/s;
    await fails(`backfill ${tracking('binance')}`, 6, refused);
    expect(await say('sources resume binance')).toBe('binance is resumed\n');
    expect(await say('sources resume binance')).toBe('binance is not paused\n');
    await say(`backfill ${tracking('binance')}`);
    expect(await covered('binance')).toBe(true);

    await say('sources pause binance');
    const asked = venues.binance.requests().total;
    await fails('verify 1', 6, 'PAUSED');
    expect(await fails('verify', 3, /WINDOWS_UNANSWERED: .* the first: requests to binance are paused/)).toMatch(
      /[1-9] requests to binance, which is paused\n.*compared [1-9]/s,
    );
    expect(venues.binance.requests().total).toBe(asked);
  },
  processesMs,
);

it('a series of a paused source is requested of its next one', async () => {
  const { run, say, fails, list, venues, query } = await openVenues(['okx']);
  const mirror = await startVenueSimulator({ profile: 'okx' });
  onTestFinished(() => mirror.close());
  const days = '--from 2024-03-01 --to 2024-03-03';
  list(
    {},
    `  mirror: { profile: okx, url: '${mirror.url}' }
candles: [{ source: [okx, mirror], symbol: BTC/USDT, interval: h1, from: 2024-03-01, to: 2024-03-03 }]\n`,
  );
  await say('apply');
  const before = venues.okx.requests().total;
  await say('sources pause okx');
  const backfill = `backfill candles --exchange okx --base BTC --quote USDT --interval h1 ${days}`;
  const stderr = expect.stringMatching(/^requests to okx are paused since .*\n$/);
  expect(await run(backfill)).toMatchObject({ exitCode: 0, stderr });
  expect(await query('select distinct source from source_coverage')).toEqual([{ source: 'mirror' }]);
  expect(venues.okx.requests().total).toBe(before);
  expect(await say('why 1')).toMatch(/^requests to okx are paused since 20/);
  await say('sources pause mirror');
  await fails(backfill, 6, 'PAUSED: requests to okx are paused since');
  // What nobody has asked for waits for the pause.
  await say(`track candles --exchange okx --base BTC --quote USDT --interval h1 --from 2024-02-01 --to 2024-03-03`);
  for (const words of ['gaps', 'why 1']) expect(await say(words)).toContain('waits until okx is resumed');
  await say('sources resume mirror');
  expect(await say('why 1')).toMatch(/^Next of mirror: .*, when a worker is connected\.$/m);
  await say('sources pause mirror');
  expect(await say('resume')).toBe('not paused; mirror, okx stay paused: `tidemark sources resume NAME`\n');
});

it('lowers the budget of a source until it is reset, and says so', async () => {
  const { say, fails, json, source } = await open();
  await say(`track ${tracking('binance')}`);
  for (const words of ['', ' 30 --reset']) await fails(`sources budget binance${words}`, 2, 'either a number');
  await fails('sources budget binance 0', 2, 'is not a number from 1');
  await fails('sources budget binance 3001', 2, 'and 3,001 is more; `tidemark sources budget binance --reset` has');
  await fails('sources budget bybitt 3', 2, 'did you mean "bybit"?');
  expect(await say('sources budget binance --reset')).toBe(
    'the budget of binance was not lowered; it is 3,000 requests a minute\n',
  );
  expect(await say('sources budget binance 30')).toMatch(/^the budget of binance is 30 a minute, in place of 3,000/);
  expect(await source('binance')).toMatchObject({
    ...{ requestsPerMinute: 30, lowered: { perMinute: 30, since: expect.any(String), by: userAtHost() } },
  });
  const lowered = `lowered from 3,000 to 30 a minute since 20[^\\n]* by ${userAtHost()}`;
  expect(await say('sources')).toMatch(new RegExp(`^the budget of binance is ${lowered}\\n.*of 30/min`, 'ms'));
  expect(await say('status')).toMatch(
    new RegExp(`^source binance: .* of 30 requests in the last minute, ${lowered}`, 'm'),
  );
  expect(await json('plan')).toMatchObject({ requestsPerMinute: 30 });
  expect(await say('plan')).toMatch(new RegExp(`at 30 a minute.*^the budget of binance is ${lowered}`, 'ms'));
  expect(await say('sources budget binance --reset')).toBe('the budget of binance is again 3,000 requests a minute\n');
  expect(await json('plan')).toMatchObject({ requestsPerMinute: 3000 });
});

it('lists the last requests that a source refused', async () => {
  const { say, fails, json, query } = await open();
  await say(`track ${tracking('binance')}`);
  expect(await say('sources refusals binance')).toBe('binance has refused no request in the ledger\n');
  await query(
    `insert into tidemark.fetches (time, dataset, series_id, range, lane, attempt, verdict, status, duration_ms, error,
                                   source)
     select timestamptz '2024-03-02' + n * interval '1 minute', 'candles', case when n < 3 then 1 end,
            case when n < 3 then tstzrange('2024-03-01', '2024-03-02') end, 'backfill', 1, verdict, status, 80,
            verdict || E' said\\nmore', source
     from (values (1, 'rate_limited', 429, 'binance'), (2, 'address_refused', 418, 'binance'),
                  (3, 'notice', 200, 'binance'), (4, 'timeout', null, 'binance'),
                  (5, 'country_refused', 451, 'bybit')) v (n, verdict, status, source)`,
  );
  const refused = { lane: 'backfill', from: '2024-03-01T00:00:00.000Z', to: '2024-03-02T00:00:00.000Z' };
  const series = 'binance BTC/USDT m1';
  expect(await json('sources refusals binance')).toEqual({
    source: 'binance',
    refusals: [
      {
        ...{ time: '2024-03-02T00:03:00.000Z', kind: 'notice', status: 200, lane: 'backfill' },
        ...{ series: null, from: null, to: null, message: 'notice said' },
      },
      {
        time: '2024-03-02T00:02:00.000Z',
        kind: 'address_refused',
        status: 418,
        ...refused,
        series,
        message: 'address_refused said',
      },
      {
        time: '2024-03-02T00:01:00.000Z',
        kind: 'rate_limited',
        status: 429,
        ...refused,
        series,
        message: 'rate_limited said',
      },
    ],
  });
  expect(await say('sources refusals bybit')).toMatch(
    /^2024-03-02 00:05Z +country_refused \(451\) .*country_refused said$/m,
  );
  await fails('sources refusals bybi', 2, 'did you mean "bybit"?');
});

it('has a source that refuses a country asked anew, and no ban', async () => {
  const { say, database } = await open();
  const nowMs = Date.now();
  const refused = (kind: string) =>
    changeRefusal(database, 'binance', () => ({
      ...{
        kind,
        message: 'no',
        atMs: nowMs,
        inARow: 1,
        untilMs: nowMs + hourMs,
        aloneUntilMs: null,
        acceptedAtMs: null,
      },
    }));
  await say('migrate');
  expect(await say('sources resume binance')).toBe('binance is not paused\n');
  await refused('address_refused');
  expect(await say('sources resume binance')).toMatch(
    /^binance is not paused: it accepts no request until 20\S+ \S+, which/,
  );
  expect(await readRefusedUntil(database, 'binance', nowMs)).toBe(nowMs + hourMs);
  await refused('country_refused');
  expect(await say('sources resume binance')).toMatch(/^binance is not paused; it is asked again within half a minute/);
  expect(await readRefusedUntil(database, 'binance', Date.now())).toBeNull();
});
