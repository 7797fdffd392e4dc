import { expect, it } from 'vitest';
import { writeNotified } from '../../../store/settings/notifications.ts';
import { startHook } from '../../notify/hook.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs } from '../command.ts';
import { openWatched } from './watch-list-parts.ts';

it('notify --test sends each target a message, and says which did not take it', async () => {
  const { write, say, fails, run } = await openWatched();
  const hook = await startHook();
  await fails('notify --test', 2, 'there is nobody to tell');
  write(`notify: [{ webhook: $OPS_HOOK, secret: $OPS_SECRET }, { slack: '${hook.url}/tOkEn-2', name: ops }]`);
  const env = { OPS_HOOK: `${hook.url}/tOkEn-1`, OPS_SECRET: 'tOkEn-3' };
  expect(await say('notify --test', env)).toBe(`webhook sent: ${hook.url}\nops sent: ${hook.url}\n`);
  expect(hook.received.map(({ path }) => path).sort()).toEqual(['/tOkEn-1', '/tOkEn-2']);
  expect(JSON.parse(hook.received.find(({ path }) => path === '/tOkEn-1')?.body ?? '')).toMatchObject({
    event: 'test',
    headline: 'this is a test',
  });
  hook.answers.push({ status: 403 });
  expect(await fails('notify --test ops', 11, 'NOT_DELIVERED: 1 of 1 targets did not take the message: ops')).toBe(
    'ops failed: answered 403\n',
  );
  const unset = await run('notify --test --json');
  expect(unset.exitCode).toBe(11);
  expect(JSON.parse(unset.stdout)).toMatchObject({
    targets: [{ name: 'webhook', address: null, isSent: false, cause: 'OPS_HOOK is not set' }, { isSent: true }],
  });
  await fails('notify nobody', 2, 'no target of notify is named "nobody"; use one of webhook, ops');
  const shown = [await say('notify', env), JSON.stringify(await run('notify --json', env))].join('\n');
  expect(shown).toMatch(/^webhook +webhook +http:\/\/127\.0\.0\.1:\d+ +bad +2 min +4 h +no trouble$/m);
  expect(shown + unset.stdout + unset.stderr).not.toContain('tOkEn');
});

it('notify and status agree on a target that was not told, and notify --test ends it', async () => {
  const { write, say, run, json, fails, database } = await openWatched();
  const hook = await startHook();
  write(`notify: [{ webhook: '${hook.url}' }, { slack: '${hook.url}' }, { ntfy: '${hook.url}/topic' }]`);
  const [sinceMs, atMs] = [Date.UTC(2026, 10, 20, 12), Date.UTC(2026, 10, 20, 12, 10)];
  const failure = { sinceMs, atMs, cause: 'answered 500', attempts: 3, isFinal: false };
  await writeNotified(database, 'webhook', { told: null, waits: null, failure });
  await writeNotified(database, 'slack', { told: null, waits: null, failure: { ...failure, atMs: atMs - 1 } });
  // Of an older release.
  const { sinceMs: _, ...older } = { ...failure, cause: 'answered 404', isFinal: true };
  await writeNotified(database, 'ntfy', { told: null, waits: null, failure: older });
  const untold = 'a target of notify was not told: ntfy: answered 404, and 1 more';
  expect(await say('status')).toContain(untold);
  const shown = await say('notify');
  expect(shown).toMatch(/^webhook .* not told since 2026-11-20 12:00Z: answered 500$/m);
  expect(shown).toMatch(/^slack .* failed at 2026-11-20 12:09:59Z: answered 500$/m);
  expect(shown).toMatch(/^ntfy .* not told since 2026-11-20 12:10Z: answered 404$/m);
  expect(await json('notify')).toMatchObject({
    targets: [
      { failure: { since: '2026-11-20T12:00:00.000Z', attempts: 3, isUntold: true } },
      { failure: { since: '2026-11-20T12:00:00.000Z', isUntold: false } },
      { failure: { since: '2026-11-20T12:10:00.000Z', isUntold: true } },
    ],
  });
  hook.answers.push({ status: 403 });
  await fails('notify --test ntfy', 11, 'NOT_DELIVERED');
  expect(await say('status')).toContain(untold);
  await say('notify --test');
  expect(await say('status')).not.toContain('a target of notify');
  expect(await json('notify')).toMatchObject({ targets: Array(3).fill({ failure: null }) });
  // What was delivered is shown, and that it could not be stored.
  const away = await run('notify --test', { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
  expect(away).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('webhook sent: ') });
  expect(away.stderr).toMatch(/^tidemark: status does not know that messages were delivered: /m);
});

it(
  'a scheduler tells what it sees, and the command shows it',
  async () => {
    const { write, say, begin, json } = await openWatched();
    const hook = await startHook();
    await say('track candles --exchange binance --base bitcoin --quote tether --interval h1 --from 2024-03-01');
    write(`notify: [{ webhook: '${hook.url}', after: 10s }]`);
    const running = begin('scheduler');
    await waitFor('the message', () => hook.received.length > 0);
    expect(hook.documents()).toMatchObject([{ event: 'trouble', condition: 'no_worker', command: 'tidemark run' }]);
    await waitFor('what is kept', async () => /trouble at .*: no worker is connected/.test(await say('notify')));
    running.kill('SIGTERM');
    expect((await running.ended).exitCode).toBe(0);
    expect(await json('notify')).toMatchObject({ targets: [{ told: { condition: 'no_worker' }, failure: null }] });
  },
  processesMs,
);
