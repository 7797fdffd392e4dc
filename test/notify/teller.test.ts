import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import type { Said } from '../../notify/rules.ts';
import { createTeller, type TellerOptions } from '../../notify/teller.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { readUntold, writeTested } from '../../store/settings/notifications.ts';
import { clockAt, createTestClock } from '../parts/test-clock.ts';
import { proxyTo } from '../queue/cuttable-proxy.ts';
import { emptyDirectory } from '../scripts/command.ts';
import { openOwnStore } from '../store/open-store.ts';
import { startHook } from './hook.ts';

const healthy: Said = { kind: 'healthy', level: 'ok', text: 'up to date: 3 series', source: null, command: null };
const noWorker: Said = {
  kind: 'no_worker',
  level: 'bad',
  text: 'no worker is connected',
  source: null,
  command: 'tidemark run',
};
const failed: Said = {
  kind: 'ranges_failed',
  level: 'bad',
  text: '2 ranges failed',
  source: null,
  command: 'tidemark gaps',
};
const paused: Said = {
  kind: 'paused',
  level: 'waiting',
  text: 'requests are paused',
  source: null,
  command: 'tidemark resume',
};
const away: Said = {
  kind: 'database_away',
  level: 'bad',
  text: 'the database does not answer: x',
  source: null,
  command: null,
};

async function openTold(notify: (url: string) => string) {
  const { database, url } = await openOwnStore();
  const hook = await startHook();
  const file = join(emptyDirectory(), 'tidemark.yaml');
  const write = (text: string) => writeFileSync(file, text);
  write(notify(hook.url));
  const lines: string[] = [];
  const at = { nowMs: Date.UTC(2026, 10, 20, 12), headline: healthy, also: [] as readonly Said[] };
  const teller = (options: Partial<TellerOptions> = {}) => {
    const made = createTeller({
      ...{ clock: clockAt(() => at.nowMs), database, file, host: 'here', store: 'db/tidemark' },
      readConditions: async () => [at.headline, ...at.also],
      log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
      ...options,
    });
    /** Looks after a while, and waits for what it tells. */
    const after = async (ms: number, headline: Said = at.headline) => {
      Object.assign(at, { nowMs: at.nowMs + ms, headline });
      await made.look();
      await made.idle();
    };
    return { ...made, after };
  };
  const stored = async () => {
    const { rows } = await database.pool.query(
      `select name, value::jsonb as value from tidemark.settings where name like 'notify.%' order by name`,
    );
    return rows as Array<{ name: string; value: Record<string, unknown> }>;
  };
  return { database, url, hook, teller, write, lines, stored, at };
}

const webhook = (url: string) => `notify: [{ webhook: '${url}/hook' }]`;
const eventsOf = (documents: ReadonlyArray<Record<string, unknown>>) =>
  documents.map(({ event, condition }) => `${event} ${condition}`);

test('tells trouble that has lasted, a change, a reminder and the end, and each of them once', async () => {
  const { hook, teller } = await openTold(webhook);
  const { after } = teller();
  await after(0, noWorker);
  await after(minuteMs);
  expect(hook.received).toEqual([]);
  await after(minuteMs);
  await after(minuteMs);
  expect(hook.documents()).toEqual([
    {
      event: 'trouble',
      ...{ level: 'bad', condition: 'no_worker', source: null, headline: 'no worker is connected', before: null },
      ...{ since: '2026-11-20T12:00:00.000Z', time: '2026-11-20T12:02:00.000Z', command: 'tidemark run', link: null },
      ...{ host: 'here', store: 'db/tidemark' },
    },
  ]);
  await after(minuteMs, failed);
  await after(2 * minuteMs);
  expect(hook.documents()).toMatchObject([
    {
      event: 'change',
      condition: 'ranges_failed',
      before: 'no worker is connected',
      since: '2026-11-20T12:04:00.000Z',
    },
  ]);
  await after(4 * hourMs - 1);
  expect(hook.received).toEqual([]);
  await after(1, { ...failed, text: '3 ranges failed' });
  await after(minuteMs);
  expect(hook.documents()).toMatchObject([{ event: 'reminder', headline: '3 ranges failed' }]);
  await after(0, healthy);
  await after(2 * minuteMs, { ...healthy, kind: 'catching_up', level: 'working', text: 'catching up' });
  await after(4 * hourMs);
  expect(hook.documents()).toMatchObject([
    { event: 'recovery', headline: 'catching up', before: '3 ranges failed', since: '2026-11-20T12:04:00.000Z' },
  ]);
});

test('tells nothing of what comes and goes within the delay, nor of a level that the target leaves out', async () => {
  const { hook, teller } = await openTold(
    (url) => `notify: [{ webhook: '${url}/bad' }, { webhook: '${url}/all', level: waiting, after: 10m, every: off }]`,
  );
  const { after } = teller();
  for (let times = 0; times < 5; times += 1) {
    await after(minuteMs, noWorker);
    await after(minuteMs, healthy);
  }
  expect(hook.received).toEqual([]);
  await after(minuteMs, paused);
  await after(10 * minuteMs);
  await after(24 * hourMs);
  expect(hook.received.map(({ path }) => path)).toEqual(['/all']);
  expect(eventsOf(hook.documents())).toEqual(['trouble paused']);
  // Trouble of any kind counts: changes between kinds do not delay it.
  await after(minuteMs, noWorker);
  await after(minuteMs, failed);
  await after(minuteMs, noWorker);
  expect(hook.received.map(({ path }) => path)).toEqual(['/bad']);
  // A short recovery is not told.
  await after(minuteMs, healthy);
  await after(minuteMs, noWorker);
  await after(9 * minuteMs);
  expect(hook.received.map(({ path }) => path)).toEqual(['/bad']);
});

test('tells the end of a source that is away, and of the next one', async () => {
  const { hook, teller } = await openTold(webhook);
  const { after } = teller();
  const awayOf = (source: string): Said => ({
    ...{ kind: 'source_away', level: 'bad', text: `${source} is unreachable`, source, command: 'tidemark sources' },
  });
  const told = () => hook.documents().map(({ event, source }) => `${event} ${source}`);
  await after(0, awayOf('kraken'));
  await after(2 * minuteMs);
  await after(minuteMs, awayOf('okx'));
  expect(told()).toEqual(['trouble kraken']);
  await after(2 * minuteMs);
  expect(told()).toEqual(['change okx']);
  // Kraken is away again, for less than the delay.
  await after(minuteMs, awayOf('kraken'));
  await after(minuteMs, awayOf('okx'));
  await after(0, healthy);
  await after(2 * minuteMs);
  expect(told()).toEqual(['recovery null']);
});

test('the delay of what is seen once the queue is back begins then', async () => {
  const { hook, teller } = await openTold((url) => `notify: [{ webhook: '${url}/hook', after: 2m }]`);
  const { after } = teller();
  const queueGone: Said = { ...away, kind: 'queue_away', text: 'the queue does not answer' };
  await after(0, queueGone);
  await after(minuteMs);
  await after(50_000);
  await after(20_000, noWorker);
  await after(minuteMs);
  expect(hook.received).toEqual([]);
  await after(minuteMs);
  expect(eventsOf(hook.documents())).toEqual(['trouble no_worker']);
});

test('tells each target the first condition of its level, and no end while a worse one holds', async () => {
  const { hook, teller, at } = await openTold(
    (url) => `notify: [{ webhook: '${url}/bad' }, { webhook: '${url}/all', level: waiting }]`,
  );
  const { after } = teller();
  const received = () => {
    const paths = hook.received.map(({ path }) => path);
    return eventsOf(hook.documents()).map((event, index) => `${paths[index]} ${event}`);
  };
  await after(0, noWorker);
  await after(2 * minuteMs);
  expect(received().toSorted()).toEqual(['/all trouble no_worker', '/bad trouble no_worker']);
  at.also = [failed];
  await after(minuteMs, paused);
  await after(2 * minuteMs);
  expect(received().toSorted()).toEqual(['/all change paused', '/bad change ranges_failed']);
  await after(minuteMs);
  expect(received()).toEqual([]);
  at.also = [];
  await after(minuteMs);
  await after(2 * minuteMs);
  expect(hook.documents()).toMatchObject([
    { event: 'recovery', condition: 'paused', headline: 'requests are paused', before: '2 ranges failed' },
  ]);
  // What begins behind a milder headline is told too.
  at.also = [failed];
  await after(minuteMs);
  await after(2 * minuteMs);
  expect(received()).toEqual(['/bad trouble ranges_failed']);
});

test('sends again after a failure, as late as the target asks, and gives up what is refused', async () => {
  const { hook, teller, lines, stored, database } = await openTold(webhook);
  const told: unknown[] = [];
  const { after } = teller({ events: (event) => told.push(event) });
  hook.answers.push({ status: 500 }, { status: 429, headers: { 'retry-after': '600' } });
  await after(0, noWorker);
  await after(2 * minuteMs);
  await after(4999);
  expect(hook.received).toHaveLength(1);
  await after(1);
  expect(hook.received).toHaveLength(2);
  expect((await stored())[0]).toMatchObject({
    name: 'notify.target.webhook',
    value: { told: null, failure: { cause: 'answered 429', attempts: 2 } },
  });
  await after(10 * minuteMs - 1);
  expect(hook.received).toHaveLength(2);
  await after(1);
  expect(eventsOf(hook.documents())).toEqual(Array(3).fill('trouble no_worker'));
  expect(told).toEqual([{ target: 'webhook', result: 'sent' }]);
  hook.answers.push({ status: 404 });
  await after(0, failed);
  await after(2 * minuteMs);
  await after(hourMs);
  expect(eventsOf(hook.documents())).toEqual(['change ranges_failed']);
  expect(told).toEqual([
    { target: 'webhook', result: 'sent' },
    { target: 'webhook', result: 'failed' },
  ]);
  expect(lines.filter((line) => line.includes('answered 404'))).toHaveLength(2);
  expect(await readUntold(database)).toEqual(['webhook: answered 404']);
  await after(3 * hourMs);
  await after(0);
  expect(eventsOf(hook.documents())).toEqual(['reminder ranges_failed']);
  expect(await readUntold(database)).toEqual([]);
});

test('counts a target as not told until a test message is delivered, also while the scheduler goes on', async () => {
  const { hook, teller, stored, database, at } = await openTold(webhook);
  const { after } = teller();
  hook.answers.push({ status: 404 });
  await after(0, noWorker);
  await after(2 * minuteMs);
  expect(await readUntold(database)).toEqual(['webhook: answered 404']);
  await writeTested(database, ['webhook', 'other'], at.nowMs - 1);
  expect(await readUntold(database)).toEqual(['webhook: answered 404']);
  await writeTested(database, ['webhook', 'other'], at.nowMs + 1000);
  expect(await readUntold(database)).toEqual([]);
  await after(minuteMs);
  await after(0, failed);
  expect(await readUntold(database)).toEqual([]);
  // The next message is refused again.
  hook.answers.push({ status: 404 });
  await after(2 * minuteMs);
  expect(await readUntold(database)).toEqual(['webhook: answered 404']);
  await after(0, healthy);
  await after(2 * minuteMs);
  await after(0, noWorker);
  await after(2 * minuteMs);
  await after(0, healthy);
  await after(2 * minuteMs);
  // Nothing is left of it, nor of a target that has not failed.
  await writeTested(database, ['webhook', 'other'], at.nowMs);
  expect((await stored()).map(({ name }) => name)).toEqual(['notify.teller']);
});

test('counts a target as not told once it has failed for ten minutes, whatever was to be told', async () => {
  const { hook, teller, stored, database, at } = await openTold(webhook);
  const { after } = teller();
  hook.answers.push(...Array.from({ length: 100 }, () => ({ status: 500 })));
  await after(0, noWorker);
  await after(2 * minuteMs);
  const awayOf = (source: string): Said => ({ ...away, kind: 'source_away', text: `${source} is away`, source });
  const attempts: unknown[] = [];
  for (const source of ['kraken', 'okx', 'bybit']) {
    expect(await readUntold(database)).toEqual([]);
    await after(0, awayOf(source));
    await after(2 * minuteMs);
    await after(minuteMs);
    attempts.push((await stored())[0]?.value.failure);
  }
  expect(attempts).toMatchObject(
    Array(3).fill({ attempts: 3, isFinal: false, sinceMs: Date.UTC(2026, 10, 20, 12, 2) }),
  );
  expect(await readUntold(database)).toEqual([]);
  await after(0, noWorker);
  await after(2 * minuteMs);
  expect(await readUntold(database)).toEqual(['webhook: answered 500']);
  // After a test message it counts anew.
  await writeTested(database, ['webhook'], at.nowMs + 1);
  await after(minuteMs);
  expect(await readUntold(database)).toEqual([]);
  await after(10 * minuteMs);
  expect(await readUntold(database)).toEqual(['webhook: answered 500']);
  hook.answers.splice(0);
  await after(hourMs);
  expect(await readUntold(database)).toEqual([]);
});

test('a target that never answers, or cannot be reached, holds up no other one', async () => {
  const { hook, teller } = await openTold(
    (url) => `notify: [{ webhook: '${url}/stuck' }, { ntfy: 'http://127.0.0.1:1/topic' }, { slack: '${url}/slack' }]`,
  );
  hook.answers.push('never');
  const { look, close, after } = teller();
  await after(0, noWorker);
  const late = after(2 * minuteMs);
  await expect.poll(() => hook.received.map(({ path }) => path)).toEqual(['/stuck', '/slack']);
  await look();
  await close();
  await late;
});

test('a new process neither repeats what was told nor forgets it', async () => {
  const { hook, teller, at } = await openTold(webhook);
  const first = teller();
  await first.after(0, noWorker);
  await first.after(2 * minuteMs);
  await first.close();
  const next = teller();
  await next.after(minuteMs);
  await next.after(10 * minuteMs);
  expect(eventsOf(hook.documents())).toEqual(['trouble no_worker']);
  // A killed one keeps its place for a minute.
  at.headline = healthy;
  const last = teller();
  await last.after(minuteMs);
  await last.after(2 * minuteMs);
  expect(hook.documents()).toMatchObject([{ event: 'recovery', since: '2026-11-20T12:00:00.000Z' }]);
});

test('of two schedulers one tells, and the other one goes on when it is gone', async () => {
  const { hook, teller } = await openTold(webhook);
  const [one, other] = [teller(), teller()];
  await one.after(0, noWorker);
  await other.after(0);
  await one.after(2 * minuteMs - 30_000);
  await other.after(0);
  for (const ms of [30_000, 10_000]) {
    await one.after(ms);
    await other.after(0);
  }
  expect(eventsOf(hook.documents())).toEqual(['trouble no_worker']);
  await one.close();
  await other.after(0, healthy);
  await other.after(2 * minuteMs);
  await other.after(hourMs);
  expect(eventsOf(hook.documents())).toEqual(['recovery no_worker'.replace('no_worker', 'healthy')]);
});

test('tells from memory that the database is away, and that it is back', async () => {
  const { hook, teller, database } = await openTold(webhook);
  const gone: Database = openDatabase({
    ...{ url: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'test', maxConnections: 1 },
    ...{ statementTimeoutMs: 1000, connectTimeoutMs: 200, onIdleError: () => {} },
  });
  let isAway = false;
  const changing = new Proxy(database, { get: (target, name) => Reflect.get(isAway ? gone : target, name) as unknown });
  const { after } = teller({ database: changing });
  await after(0, noWorker);
  await after(2 * minuteMs);
  isAway = true;
  await after(minuteMs, away);
  await after(2 * minuteMs);
  await after(minuteMs);
  expect(eventsOf(hook.documents())).toEqual(['trouble no_worker', 'trouble database_away']);
  isAway = false;
  await after(minuteMs, noWorker);
  await after(2 * minuteMs);
  expect(hook.documents()).toMatchObject([
    { event: 'recovery', before: 'the database does not answer: x', headline: 'the database answers' },
  ]);
  await after(0, healthy);
  await after(2 * minuteMs);
  expect(hook.documents()).toMatchObject([{ event: 'recovery', before: 'no worker is connected' }]);
  await gone.close();
});

test('a message that is delivered while the database is away ends the failure of before', async () => {
  const { hook, teller, database } = await openTold(webhook);
  const { after } = teller();
  hook.answers.push({ status: 404 });
  await after(0, noWorker);
  await after(2 * minuteMs);
  expect(await readUntold(database)).toEqual(['webhook: answered 404']);
  await after(0, away);
  await after(2 * minuteMs);
  expect(eventsOf(hook.documents())).toEqual(['trouble no_worker', 'trouble database_away']);
  await after(0, noWorker);
  expect(await readUntold(database)).toEqual([]);
});

test('what does not answer at all is away', async () => {
  const { hook, teller, url } = await openTold(webhook);
  const proxy = await proxyTo(url);
  const database = openDatabase({
    ...{ url: proxy.url, applicationName: 'test', maxConnections: 4, statementTimeoutMs: 60_000 },
    ...{ connectTimeoutMs: 1000, onIdleError: () => {} },
  });
  const clock = createTestClock();
  const never = new Promise<never>(() => {});
  const { look, idle } = teller({ clock, database, readConditions: () => never });
  /** Each part of a look waits for half a minute. */
  const lateLook = async (parts: number) => {
    const ended = look();
    for (let part = 0; part < parts; part += 1) {
      await clock.waiting();
      await clock.advance(30_000);
    }
    await ended;
    await idle();
  };
  proxy.silence();
  for (let times = 0; times < 3; times += 1) await lateLook(2);
  expect(hook.documents()).toMatchObject([
    { condition: 'database_away', headline: 'the database does not answer: no answer within 30 s' },
  ]);
  proxy.speak();
  await database.close();
});

test('takes a change of the file, and a mistake in it changes nothing', async () => {
  const { hook, teller, write, lines, stored } = await openTold(webhook);
  const { after, close } = teller();
  await after(0, noWorker);
  write('notify: [{ webhook: 12 }]\n');
  await after(2 * minuteMs);
  expect(eventsOf(hook.documents())).toEqual(['trouble no_worker']);
  expect(lines.join('')).toContain('tidemark.yaml:1: webhook must be an https address');
  write(`notify: [{ webhook: '${hook.url}/new', name: ops, after: 10s }]`);
  await after(0);
  await after(10_000);
  expect(hook.received.map(({ path }) => path)).toEqual(['/new']);
  expect((await stored()).map(({ name }) => name)).toEqual(['notify.target.ops', 'notify.teller']);
  await close();
  // Another process finds nobody to tell.
  write('prune: true');
  await teller().after(minuteMs);
  expect(await stored()).toEqual([]);
});

test('no secret is in the log, the database or a message, also where the target repeats it', async () => {
  const { hook, teller, lines, stored } = await openTold(
    () => `notify: [{ webhook: $TEST_HOOK, secret: $TEST_SECRET }, { webhook: $TEST_UNSET }, { mail: { to: a@b.example,
      from: c@d.example, smtp: 'smtp://user:tOkEn-3@127.0.0.1:1' } }]`,
  );
  process.env.TEST_HOOK = `${hook.url}/services/tOkEn-1?key=tOkEn-2`;
  process.env.TEST_SECRET = 'tOkEn-4';
  try {
    hook.answers.push({ status: 503 }, { status: 403 });
    const { after } = teller();
    await after(0, { ...failed, text: 'the source says https://user:tOkEn-5@host/ is wrong' });
    await after(2 * minuteMs);
    await after(minuteMs);
    expect(hook.received.map(({ path }) => path)).toEqual(Array(2).fill('/services/tOkEn-1?key=tOkEn-2'));
    const said = [...lines, JSON.stringify(await stored()), ...hook.received.map(({ body }) => body)].join('\n');
    expect(said).toContain('answered 403');
    expect(said).toContain('TEST_UNSET is not set');
    expect(said).toContain('the mail server failed: ESOCKET');
    expect(said).not.toContain('tOkEn');
  } finally {
    delete process.env.TEST_HOOK;
    delete process.env.TEST_SECRET;
  }
});
