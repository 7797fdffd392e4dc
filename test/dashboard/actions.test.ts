/** Actions at the dashboard over HTTP, with the service of the command line, and what is refused. */

import { expect, it, onTestFinished } from 'vitest';
import { type ActionLine, answers } from '../../dashboard/shapes.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { market, processesMs, tidemark } from '../scripts/command.ts';
import { headlineOf, listenTo, type StreamEvent } from './event-stream.ts';
import { openServing } from './serving.ts';

const json = { 'content-type': 'application/json' };
const named = {
  dataset: 'candles',
  exchange: 'binance',
  base: 'bitcoin',
  quote: 'tether',
  intervals: ['h1'],
  from: '2024-03-01',
  to: '2024-04-01',
};

const sourcesOf = ({ name, data }: StreamEvent) => (name === 'trouble' ? [] : data.summary.sources);

async function query(database: Database, name: string): Promise<unknown> {
  const { rows } = await database.pool.query('select value from tidemark.settings where name = $1', [name]);
  return JSON.parse(rows[0]?.value ?? 'null');
}

async function world(more: Record<string, string> = {}, command?: string) {
  const serving = await openServing(more, command);
  const { url, address } = serving;
  const database = openDatabase({ ...{ url, applicationName: 'test', maxConnections: 1, statementTimeoutMs: 30_000 } });
  onTestFinished(() => database.close());
  const post = async (action: string, body: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${address}dashboard/actions/${action}`, {
      method: 'POST',
      headers: { ...json, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const isJson = /json/.test(answer.headers.get('content-type') ?? '');
    return { status: answer.status, said: JSON.parse(isJson ? await answer.text() : '{}') };
  };
  const rows = async () => {
    const { rows } = await database.pool.query(
      'select action, request, address, user_name as "user", state, result from dashboard_actions order by id',
    );
    return rows;
  };
  return { ...serving, database, post, rows };
}

it(
  'tracks after a plan, verifies, repairs, retries, pauses, resumes and untracks, with a row for each and a token that no log has',
  async () => {
    const { simulator, address, token, database, post, rows, service } = await world({}, 'run');
    expect(token).toMatch(/^[\w-]{32}$/);
    const stream = await listenTo(`${address}dashboard/events`);
    const act = (action: string, body: unknown) => post(action, body, { 'x-tidemark-token': token });

    const plan = await act('plan', { ...named, intervals: ['h1', 'h1'] });
    expect(plan).toMatchObject({
      status: 200,
      said: { series: ['binance bitcoin/tether h1'], requests: 2, requestsPerMinute: 6000, notes: [] },
    });
    expect(await rows()).toEqual([]);

    const tracked = await act('track', { ...named, intervals: ['h1', 'h1'] });
    expect(tracked).toMatchObject({ status: 200, said: { state: 'done' } });
    expect(tracked.said.result).toBe('tracking binance bitcoin/tether h1 from 2024-03-01 to 2024-04-01 (id 1)');
    await stream.next((event) => /^up to date: 1 series/.test(headlineOf(event).text));

    expect((await act('pause', {})).said.result).toContain('paused: ');
    const ended = async (id: number): Promise<ActionLine> => {
      const find = async () => {
        const lines = answers.actions.parse(await (await fetch(`${address}dashboard/actions`)).json());
        return lines.find((line) => line.id === id && line.state !== 'running');
      };
      await waitFor('the end', async () => (await find()) !== undefined);
      return (await find()) as ActionLine;
    };
    expect((await act('resume', {})).said).toMatchObject({ state: 'done', result: 'resumed' });
    const source = 'default';
    expect((await act('pause', { source })).said.result).toMatch(/^the source is paused: /);
    await stream.next((event) => headlineOf(event).kind === 'source_paused');
    expect(await query(database, 'requests.paused@default')).toMatchObject({ by: '127.0.0.1' });
    expect((await act('resume', { source })).said.result).toBe('the source is resumed');
    expect((await act('budget', { source, perMinute: 30 })).said.result).toMatch(
      /^the budget of default is 30 a minute, in place of 6,000 requests a minute; /,
    );
    await stream.next((event) => sourcesOf(event)[0]?.isLowered === true);
    expect(await query(database, 'requests.budget@default')).toMatchObject({ perMinute: 30, by: '127.0.0.1' });
    expect((await act('budget', { source, perMinute: null })).said.result).toContain('is again 6,000');

    await database.pool.query(`update tidemark.candle_points set volume = volume + 1 where time = '2024-03-05'`);
    const cost = async (action: string, body: unknown) => (await act(`${action}/cost`, body)).said.cost;
    const march = { series: ['1'], from: '2024-03-06', to: '2024-03-08' };
    expect(await cost('verify', { ...march, sample: null })).toEqual([
      "1 request to the source, 0.017 % of a minute's budget, about 1 s",
    ]);
    expect(await cost('retry', march)).toEqual([]);
    expect(await cost('repair', march)).toEqual([]);
    expect(await act('verify/cost', { ...march, against: 'nowhere' })).toMatchObject({
      status: 422,
      said: { error: expect.stringContaining('BAD_ARGUMENT: no source is named "nowhere"') },
    });
    const asked = simulator.requests().total;
    const elsewhere = await act('verify', { series: ['1'], sample: null, from: '2024-03-06', to: '2024-03-08' });
    expect(await ended(elsewhere.said.id)).toMatchObject({
      ...{ state: 'done', result: 'compared 1 of 1 covered window: nothing differs' },
    });
    expect(await act('retry', { from: '2024-02-01', to: '2024-03-01' })).toMatchObject({
      status: 422,
      said: { state: 'failed', error: expect.stringContaining('BAD_ARGUMENT: nothing is tracked from 2024-02-01') },
    });

    // Asking for the cost asked the source for nothing.
    expect(simulator.requests().total).toBe(asked + 1);
    const before = simulator.requests().total;
    const verified = await act('verify', { series: ['binance bitcoin/tether h1'], sample: null });
    expect(await ended(verified.said.id)).toMatchObject({
      state: 'done',
      result: expect.stringMatching(/^compared \d+ of \d+ covered windows?: 1 point differ/),
    });
    expect(simulator.requests().total).toBeGreaterThan(before);
    const untouched = await act('repair', { from: '2024-03-06T00:00Z' });
    expect(await ended(untouched.said.id)).toMatchObject({ result: 'no difference is known: nothing was requested' });
    const repaired = await act('repair', { from: Date.UTC(2024, 2, 5), to: Date.UTC(2024, 2, 5, 0, 1) });
    expect(await ended(repaired.said.id)).toMatchObject({
      state: 'done',
      result: expect.stringMatching(/^requested 1 window with differences again, 1 answered: 1 point changed$/),
    });

    expect((await act('retry', {})).said.result).toBe('nothing to retry: no range waits for its next attempt');
    expect((await act('untrack', { series: ['1'] })).said.result).toBe(
      'no longer tracking binance bitcoin/tether h1; stored points stay',
    );
    expect(answers.backfills.parse(await (await fetch(`${address}dashboard/backfills`)).json())).toMatchObject([
      // The scheduler has not recorded its end yet.
      { id: 1, kind: 'track', state: 'done', by: '127.0.0.1', names: ['binance bitcoin/tether h1'] },
      { id: 4, kind: 'repair', state: 'done', by: '127.0.0.1' },
      { id: 3, kind: 'verify', state: 'done', by: '127.0.0.1' },
      { id: 2, kind: 'verify', state: 'done', by: '127.0.0.1' },
    ]);
    const again = await act('untrack', { series: ['1'] });
    expect(again.said.result).toBe('binance bitcoin/tether h1 was untracked before; stored points stay');
    const found = await rows();
    expect(found.map(({ action, state }) => [action, state])).toEqual([
      ['track', 'done'],
      ['pause', 'done'],
      ['resume', 'done'],
      ['pause', 'done'],
      ['resume', 'done'],
      ['budget', 'done'],
      ['budget', 'done'],
      ['verify', 'done'],
      ['retry', 'failed'],
      ['verify', 'done'],
      ['repair', 'done'],
      ['repair', 'done'],
      ['retry', 'done'],
      ['untrack', 'done'],
      ['untrack', 'done'],
    ]);
    expect(found[0]).toMatchObject({
      request: { ...named, intervals: ['h1', 'h1'] },
      address: '127.0.0.1',
      user: null,
    });
    service.kill('SIGTERM');
    expect((await service.ended).exitCode).toBe(0);
    expect(service.stderr()).not.toContain('token');
  },
  processesMs,
);

it('refuses what has no token, another site, type, method or body, does nothing, and records an action that fails', async () => {
  const { address, token, post, rows, service } = await world();
  const own = { 'x-tidemark-token': token };
  const status = async (headers: Record<string, string>, body: unknown = {}, action = 'pause') =>
    (await post(action, body, headers)).status;

  // Who looks at a cost has not tried to act.
  for (const look of ['retry/cost', 'verify/cost', 'repair/cost', 'plan'])
    expect(await status({}, {}, look), look).toBe(401);
  expect(await status({})).toBe(401);
  const refused = () => `${service.stdout()}${service.stderr()}`.match(/an action was refused/g)?.length ?? 0;
  await waitFor('the log of the refused action', async () => refused() > 0);
  expect(refused()).toBe(1);
  expect(await status({ 'x-tidemark-token': '' })).toBe(401);
  expect(await status({ 'x-tidemark-token': `${token}x` })).toBe(401);
  for (const site of ['cross-site', 'same-site', 'none'])
    expect(await status({ ...own, 'sec-fetch-site': site }), site).toBe(403);
  for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', 'http://localhost'])
    expect(await status({ ...own, origin }), origin).toBe(403);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
    expect(await status({ ...own, 'content-type': type }), type).toBe(415);
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    const answer = await fetch(`${address}dashboard/actions/pause`, { method, headers: { ...json, ...own } });
    expect([answer.status, answer.headers.get('allow')], method).toEqual([405, 'POST']);
  }
  const { origin } = new URL(address);
  const ofPage = { ...own, origin, 'sec-fetch-site': 'same-origin' };
  expect(await status(ofPage, {}, 'nothing')).toBe(404);

  for (const [action, body] of [
    ['pause', '{'],
    ['pause', []],
    ['pause', { source: '' }],
    ['budget', {}],
    ['budget', { source: 'default', perMinute: 0 }],
    ['budget', { source: 'default', perMinute: 1.5 }],
    ['untrack', { series: [] }],
    ['verify', { sample: 0 }],
    ...(['retry', 'verify', 'repair'] as const).flatMap(
      (action) =>
        [
          [action, { from: '2024-03-02', to: '2024-03-02' }],
          [action, { from: '2999-01-01' }],
          [action, { from: '2024-02-30' }],
          [action, { within: { startMs: 0, endMs: 1 } }],
        ] as const,
    ),
    ['track', { ...named, intervals: ['m7'] }],
    ['track', { ...named, exchange: 'bin\u0000ance' }],
    ['track', { ...named, from: '2024-02-30' }],
    ['track', { ...named, more: true }],
    ['plan', { ...named, dataset: 'rates' }],
  ] as const) {
    const { status, said } = await post(action, body, own);
    expect([status, said.error], JSON.stringify([action, body])).toEqual([400, expect.any(String)]);
  }
  for (const action of ['retry', 'verify', 'repair', 'retry/cost', 'verify/cost', 'repair/cost'])
    expect(await post(action, { series: [] }, own), action).toMatchObject({
      status: 400,
      said: { error: 'bad series: the list is empty; leave it out for all tracked series' },
    });
  expect((await post('untrack', { series: [] }, own)).said).toMatchObject({ error: 'bad series: the list is empty' });
  expect(await rows()).toEqual([]);
  for (const action of ['untrack', 'retry'])
    expect(await post(action, { series: ['7'] }, own)).toMatchObject({
      status: 422,
      said: { state: 'failed', error: expect.stringContaining('UNKNOWN_SERIES') },
    });
  expect(await post('track', { ...named, source: 'nowhere', symbol: 'BTC/USDT' }, own)).toMatchObject({
    status: 422,
    said: { error: expect.stringContaining('no source is named') },
  });
  const { dataset, intervals, from } = named;
  const ofSymbol = { dataset, intervals, from, source: 'nowhere', symbol: 'BTC/USDT' };
  expect((await post('track', ofSymbol, own)).said.error).toContain('no source is named');
  for (const [body, lack] of [
    [{ ...ofSymbol, source: null }, 'exchange'],
    [{ ...ofSymbol, symbol: null }, 'symbol'],
    [{ ...named, quote: null }, 'quote'],
    [{ ...named, symbol: 'BTC/USDT' }, 'source'],
  ] as const)
    for (const action of ['track', 'plan'])
      expect(await post(action, body, own)).toMatchObject({ status: 400, said: { error: `bad ${lack}: missing` } });
  for (const [action, more] of [
    ['pause', {}],
    ['resume', {}],
    ['budget', { perMinute: 3 }],
  ] as const)
    expect(await post(action, { source: 'krakn', ...more }, own)).toMatchObject({
      status: 422,
      said: { error: expect.stringContaining('no source is named "krakn": did you mean "kraken"?') },
    });
  expect(await post('budget', { source: 'default', perMinute: 6001 }, own)).toMatchObject({
    status: 422,
    said: { error: expect.stringContaining('default allows 6,000 requests a minute, and 6,001 is more') },
  });
  expect(await status({}, { source: 'kraken', perMinute: 3 }, 'budget')).toBe(401);
  expect(await status(ofPage)).toBe(200);
  expect((await rows()).map(({ action, state }) => [action, state])).toEqual([
    ['untrack', 'failed'],
    ['retry', 'failed'],
    ['track', 'failed'],
    ['track', 'failed'],
    ['pause', 'failed'],
    ['resume', 'failed'],
    ['budget', 'failed'],
    ['budget', 'failed'],
    ['pause', 'done'],
  ]);
});

it('needs the password where there is one, records the user, and names the header that a proxy has to pass', async () => {
  const { post, rows, service, address } = await world({
    ...{ DASHBOARD_PASSWORD: 'correct horse battery', TRUSTED_PROXIES: '1' },
  });
  expect(service.stdout()).not.toContain('token');
  const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
  const answer = await fetch(`${address}dashboard/actions/pause`, { method: 'POST', headers: json, body: '{}' });
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Basic')]);
  expect((await post('pause', {}, basic('ann:wrong'))).status).toBe(401);
  const ann = basic('ann:correct horse battery');
  expect(await rows()).toEqual([]);
  expect((await post('pause', {}, ann)).status).toBe(200);
  expect((await post('resume', {}, basic(':correct horse battery'))).status).toBe(200);
  expect((await rows()).map(({ action, user, address }) => [action, user, address])).toEqual([
    ['pause', 'ann', '127.0.0.1'],
    ['resume', null, '127.0.0.1'],
  ]);

  const proxied = {
    ...{ ...ann, 'x-forwarded-for': '203.0.113.7', origin: 'https://tidemark.example' },
    'sec-fetch-site': 'same-origin',
  };
  const refused = await post('pause', {}, proxied);
  expect([refused.status, refused.said.error]).toEqual([
    403,
    expect.stringContaining('has to pass Host, or X-Forwarded-Host with TRUSTED_PROXIES'),
  ]);
  expect(await post('pause', {}, { ...proxied, 'sec-fetch-site': 'cross-site' })).toMatchObject({
    ...{ status: 403, said: { error: 'actions are for the page of this service only' } },
  });
  expect(await rows()).toHaveLength(2);
  const passed = { ...proxied, 'x-forwarded-host': 'tidemark.example' };
  expect((await post('pause', {}, passed)).status).toBe(200);
});

it(
  'runs one verify at a time, and ends it with the service',
  async () => {
    const { env, post, rows, token, service } = await world({ SOURCE_REQUESTS_PER_MINUTE: '6' });
    const own = { 'x-tidemark-token': token };
    const done = await tidemark(
      ['backfill', 'candles', ...market, '--interval', 'm1', '--from', '2024-03-01', '--to', '2024-03-08'],
      { ...env, SOURCE_REQUESTS_PER_MINUTE: '6000' },
    );
    expect(done.exitCode).toBe(0);
    // A repair of nothing would end at once.
    const both = await Promise.all([0, 1].map(() => post('verify', { series: ['1'], sample: null }, own)));
    expect(both.map(({ status }) => status).sort()).toEqual([202, 409]);
    expect(await post('repair', {}, own)).toMatchObject({
      status: 409,
      said: {
        error: expect.stringMatching(
          /^another verify is running: of binance bitcoin\/tether m1(, \d of \d+ windows)?, asked by 127\.0\.0\.1$/,
        ),
      },
    });
    service.kill('SIGTERM');
    expect((await service.ended).exitCode).toBe(0);
    const [row] = await rows();
    expect(row).toMatchObject({ state: 'failed', result: expect.stringContaining('INTERRUPTED: stopped') });
  },
  processesMs,
);

it(
  'cancels a backfill for who has the right alone, with a row, and takes back what it tracks',
  async () => {
    const { address, token, database, post, rows } = await world();
    const own = { 'x-tidemark-token': token };
    expect(await post('track', named, own)).toMatchObject({ status: 200 });
    const lines = async () => answers.backfills.parse(await (await fetch(`${address}dashboard/backfills`)).json());
    const [line] = await lines();
    expect(line).toMatchObject({ state: 'interrupted', progress: '2 of 2 requests to go, 0.00 % covered' });
    const body = { backfill: line?.id };
    expect((await post('cancel', body)).status).toBe(401);
    expect((await post('cancel', body, { ...own, origin: 'http://elsewhere.example' })).status).toBe(403);
    expect((await post('cancel', {}, own)).status).toBe(400);
    expect(await lines()).toMatchObject([{ state: 'interrupted' }]);
    expect((await post('cancel', body, own)).said).toMatchObject({
      ...{ state: 'done', result: 'cancelled backfill 1; 1 series no longer tracked; stored points stay' },
    });
    expect(await lines()).toMatchObject([{ state: 'cancelled', result: 'cancelled by 127.0.0.1', progress: null }]);
    expect((await database.pool.query('select from tidemark.series where untracked_at is null')).rowCount).toBe(0);
    expect(await post('cancel', body, own)).toMatchObject({ status: 422 });
    expect((await rows()).map(({ action, state }) => `${action} ${state}`)).toEqual([
      'track done',
      'cancel done',
      'cancel failed',
    ]);
  },
  processesMs,
);
