/** What asks for ranges, as it is listed, shown and cancelled from another process. */

import { hostname } from 'node:os';
import { expect, inject, it } from 'vitest';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs } from '../command.ts';
import { openWatched, type Watched } from './watch-list-parts.ts';

const candles = 'candles --exchange binance --base bitcoin --quote tether';
const slow = { SOURCE_REQUESTS_PER_MINUTE: '30' };

interface Line {
  readonly id: number;
  readonly kind: string;
  readonly state: string;
  readonly by: string;
  readonly names: readonly string[];
  readonly series: number;
  readonly progress: string | null;
  readonly left: number | null;
  readonly result: string | null;
  readonly answers: { readonly requests: number; readonly points: number; readonly failures: unknown[] } | null;
}

const linesOf = ({ json }: Watched) => json<Line[]>('backfills');

/** Without the time, which one answer more changes. */
const figures = (text: string) => text.replace(/, about [^,]+/, '');

it('lists one that runs elsewhere with the figures of status, and its end', { timeout: processesMs }, async () => {
  const world = await openWatched();
  const { begin, say, simulator } = world;
  expect(await say('backfills')).toBe('nothing was asked for yet\n');
  const running = begin(`backfill ${candles} --interval m1,h1 --from 2024-03-01 --to 2024-03-11`, slow);
  await waitFor('some windows to be fetched', () => simulator.requests().total >= 3);
  // No answer between both.
  simulator.setFaults({ timeoutRate: 1 });
  await waitFor('the same figures', async () => {
    const [line] = await linesOf(world);
    return figures(await say('status')).includes(`backfill: ${figures(line?.progress ?? '?')}`);
  });
  const [line] = await linesOf(world);
  expect(line).toMatchObject({
    ...{ id: 1, kind: 'backfill', state: 'running', series: 2, result: null },
    by: expect.stringMatching(new RegExp(`^.+@${hostname()}$`)),
    ...{ from: '2024-03-01T00:00:00.000Z', to: '2024-03-11T00:00:00.000Z' },
  });
  expect(line?.answers?.requests).toBeGreaterThanOrEqual(2);
  simulator.setFaults({});
  running.kill('SIGINT');
  expect(await running.ended).toMatchObject({ exitCode: 130 });
  expect(await linesOf(world)).toMatchObject([
    { state: 'interrupted', result: expect.stringMatching(/^INTERRUPTED: stopped with \d+ requests to go/) },
  ]);
  await say(`backfill ${candles} --interval m1,h1 --from 2024-03-01 --to 2024-03-11`);
  expect(await linesOf(world)).toMatchObject([
    { id: 2, state: 'done', result: expect.stringMatching(/^complete: /), progress: null },
    { id: 1, state: 'interrupted', result: 'continued by 2' },
  ]);
  expect(await say('backfills show 2')).toMatch(
    /^backfill 2: done\nasked .* by .*@.*, 2 series, from 2024-03-01 to 2024-03-11\nended .*: complete: .*\n {2}binance bitcoin\/tether .*\n/,
  );
  // What nobody can go on with has no figures of progress.
  await world.fails(`backfill ${candles.replace('binance', 'binanse')} --interval h1 --from 2024-03-01`, 4, 'UNKNOWN');
  expect((await linesOf(world))[0]).toMatchObject({ id: 3, state: 'failed', progress: null, left: null });
  await world.fails('backfills show 4', 2, 'UNKNOWN_BACKFILL');
  await world.fails('backfills cancel 2', 2, 'backfill 2 has ended: done; `tidemark backfills show 2` has how');
});

it('says of a killed one that nobody goes on, until a scheduler does', { timeout: processesMs }, async () => {
  const world = await openWatched();
  const { begin, query, simulator } = world;
  const running = begin(`backfill ${candles} --interval m1 --from 2024-03-01 --to 2024-03-21`, slow);
  await waitFor('some windows to be fetched', () => simulator.requests().total >= 2);
  running.kill('SIGKILL');
  await running.ended;
  // Half a minute later.
  await query(`update tidemark.backfills set seen_at = seen_at - interval '1 minute'`);
  expect(await linesOf(world)).toMatchObject([{ state: 'interrupted', result: 'nobody goes on with it' }]);
  const service = begin('run --no-serve', slow);
  await waitFor('a scheduler', async () => (await linesOf(world))[0]?.state === 'running');
  service.kill('SIGINT');
  await service.ended;
  await query('update tidemark.series set covered = tstzmultirange(tracked)');
  expect(await linesOf(world)).toMatchObject([{ state: 'done', result: 'complete', progress: null }]);
});

const backends = inject('redisUrl') === null ? ['postgres'] : ['redis', 'postgres'];
it.each(backends)(
  'is cancelled from another process, which leaves nothing queued and nothing tracked more, on %s',
  { timeout: processesMs },
  async (backend) => {
    const world = await openWatched();
    const { begin, json, simulator, run, query } = world;
    const own: Record<string, string> = backend === 'postgres' ? { REDIS_URL: '' } : {};
    const say = async (words: string) => {
      const { exitCode, stdout, stderr } = await run(words, own);
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
      return stdout;
    };
    await say(`track ${candles} --interval h1 --from 2024-03-20 --to 2024-03-21`);
    const service = begin('run --no-serve', { ...slow, ...own });
    await waitFor('the tracked range', async () => (await linesOf(world)).length === 1);
    const running = begin(`backfill ${candles} --interval m1,h1 --from 2024-03-01 --to 2024-03-21`, {
      ...slow,
      ...own,
    });
    const before = simulator.requests().total;
    await waitFor('some windows to be fetched', () => simulator.requests().total >= before + 2);
    const id = (await linesOf(world)).find(({ kind }) => kind === 'backfill')?.id;
    expect(await say(`backfills cancel ${id}`)).toBe(
      `cancelled backfill ${id}; 1 series no longer tracked; 1 series tracked as before; stored points stay\n`,
    );
    const { exitCode, stdout, stderr } = await running.ended;
    expect(exitCode).toBe(130);
    expect(`${stdout}${stderr}`.match(/.*(cancelled|interrupted|nothing left).*/gi)).toEqual([
      expect.stringContaining(`CANCELLED: backfill ${id} was cancelled`),
    ]);
    expect(stdout).toMatch(/^stored until then: \d+ requests?, [\d,]+ new points, .+\n$/);
    const made = simulator.requests().total;
    const tracked = await query(
      `select interval, tracked::text from tidemark.series where untracked_at is null order by interval`,
    );
    expect(tracked).toEqual([{ interval: 'h1', tracked: '["2024-03-20 00:00:00+00","2024-03-21 00:00:00+00")' }]);
    const queue = JSON.parse(await say('status --json')).queue;
    expect(queue).toMatchObject({ backend, waiting: 0, delayed: 0 });
    // The scheduler plans on, and queues nothing of it.
    const passes = async () => Number((await query('select count(*) as n from tidemark.fetches'))[0]?.n);
    const known = await passes();
    await say(`track ${candles} --interval d1 --from 2024-03-20 --to 2024-03-21`);
    await waitFor('a request of another series', async () => (await passes()) > known);
    expect(simulator.requests().total).toBeLessThanOrEqual(made + 3);
    expect(await json('status')).toMatchObject({ windowsLeft: 0 });
    service.kill('SIGINT');
    await service.ended;
  },
);

it('verifies while a backfill of hours goes on', { timeout: processesMs }, async () => {
  const world = await openWatched();
  const { begin, run } = world;
  const often = { SOURCE_REQUESTS_PER_MINUTE: '60' };
  await world.say(`backfill ${candles} --interval h1 --from 2024-03-01 --to 2024-03-11`);
  const running = begin(`backfill ${candles} --interval m1 --from 2023-01-01 --to 2024-01-01`, often);
  const queue = async () => (await world.json<{ queue: { waiting: number } | null }>('status')).queue;
  await waitFor('windows in the queue', async () => ((await queue())?.waiting ?? 0) > 10);
  expect(await run('verify 1 --all', often)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^1 request to the source, 1\.7 % of a minute's budget, .+, after \d+ that are queued/,
    ),
  });
  const states = (await linesOf(world)).map(({ kind, state }) => `${kind} ${state}`);
  expect(states).toEqual(['backfill running', 'verify done', 'backfill done']);
  running.kill('SIGINT');
  await running.ended;
});

it('records repairs, verifications, tracking and the watch list, and cancels each as it can', {
  timeout: processesMs,
}, async () => {
  const world = await openWatched();
  const { say, fails, write, query, begin, run } = world;
  await say(`track ${candles} --interval h1 --from 2024-03-01 --to 2024-04-01`);
  await say(`backfill ${candles} --interval m1 --from 2024-03-01 --to 2024-03-11`);
  expect((await linesOf(world)).map(({ kind, state }) => `${kind} ${state}`)).toEqual([
    'track interrupted',
    'backfill done',
  ]);
  await say('backfills cancel 1');
  await say('verify --all');
  await query(`update tidemark.candle_points set close = close + 1`);
  expect(await run('verify --all')).toMatchObject({ exitCode: 7 });
  const [, changed] = / answered: ([\d,]+) points changed/.exec(await say('repair')) ?? [];
  expect((await linesOf(world)).map(({ kind, state, result }) => `${kind} ${state}: ${result}`)).toEqual([
    expect.stringMatching(new RegExp(`^repair done: \\d+ windows? requested, ${changed} points changed$`)),
    expect.stringMatching(/^verify done: (\d+) windows requested, \1 with differences$/),
    expect.stringMatching(/^verify done: \d+ windows requested, nothing differs$/),
    expect.stringMatching(/^backfill done: complete: /),
    expect.stringMatching(/^track cancelled: cancelled by .*@/),
  ]);
  const verifying = begin('verify --all', { SOURCE_REQUESTS_PER_MINUTE: '10' });
  await waitFor('it to run', async () => (await linesOf(world))[0]?.progress?.includes('to go') === true);
  const id = (await linesOf(world))[0]?.id;
  expect(await say(`backfills cancel ${id}`)).toBe(`cancelled backfill ${id}; stored points stay\n`);
  expect(await verifying.ended).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('CANCELLED') });
  expect(JSON.parse(await say('status --json')).queue).toMatchObject({ waiting: 0, delayed: 0 });
  const stopped = begin('verify --all', { SOURCE_REQUESTS_PER_MINUTE: '30' });
  await waitFor('an answer', async () => ((await linesOf(world))[0]?.answers?.requests ?? 0) >= 2);
  stopped.kill('SIGINT');
  const [, compared] = / INTERRUPTED: stopped after (\d+) windows?;/.exec((await stopped.ended).stderr) ?? [];
  expect((await linesOf(world))[0]).toMatchObject({
    state: 'interrupted',
    result: expect.stringMatching(new RegExp(`^INTERRUPTED: stopped after ${compared} of \\d+ windows$`)),
  });

  write(
    'candles:\n  - exchange: binance\n    base: ethereum\n    quote: tether\n    interval: h1\n    from: 2024-03-01\n',
  );
  await say('apply');
  const [watched] = await linesOf(world);
  expect(watched).toMatchObject({ kind: 'watch_list', state: 'interrupted', names: ['binance ethereum/tether h1'] });
  await fails(`backfills cancel ${watched?.id}`, 2, "is the watch list's, which would track it again");
});
