import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../clock.ts';
import { linesOf, type Message } from '../../notify/message.ts';
import { send } from '../../notify/send.ts';
import { shownAddress, type Target, targetOf } from '../../notify/targets.ts';
import { readWatchList } from '../../watch-list/read.ts';
import { emptyDirectory } from '../scripts/command.ts';
import { startHook } from './hook.ts';

const message: Message = {
  event: 'trouble',
  headline: {
    ...{ kind: 'ranges_failed', level: 'bad', source: null, command: 'tidemark gaps' },
    text: '2 ranges failed: the source said "<@everyone> {link}"',
  },
  sinceMs: Date.UTC(2026, 10, 20, 12),
  atMs: Date.UTC(2026, 10, 20, 12, 2),
  ...{ before: null, host: 'here', store: 'db/tidemark', link: 'https://tidemark.example.com' },
};

function entryOf(yaml: string) {
  const read = readWatchList(`notify: [${yaml}]`, message.atMs);
  if (read.kind === 'problems') throw new Error(read.problems.map((one) => one.message).join('\n'));
  const [entry] = read.list.notify;
  if (entry === undefined) throw new Error('no target');
  return entry;
}

function targetAt(yaml: string, environment: Record<string, string> = {}): Target {
  const target = targetOf(entryOf(yaml), environment);
  if ('problem' in target) throw new Error(target.problem);
  return target;
}

const sendTo = (yaml: string, environment: Record<string, string> = {}, changes: Partial<Message> = {}) =>
  send(targetAt(yaml, environment), { ...message, ...changes }, { clock: systemClock });

const problemOf = (yaml: string, environment = {}) => {
  const target = targetOf(entryOf(yaml), environment);
  return 'problem' in target ? target.problem : null;
};

test('Slack, Discord and ntfy get the same lines, each in its own form', async () => {
  const { url, received } = await startHook();
  const sent = { kind: 'sent' };
  expect(await sendTo(`{ slack: '${url}/slack' }`)).toEqual(sent);
  expect(await sendTo(`{ discord: '${url}/discord' }`)).toEqual(sent);
  expect(await sendTo(`{ ntfy: '${url}/topic', token: $T }`, { T: 'tk_1' }, { store: 'db/prüfung' })).toEqual(sent);
  const lines = [
    'Trouble: 2 ranges failed: the source said "<@everyone> {link}"',
    'Since 2026-11-20 12:00Z, 2 min ago',
    'See: tidemark gaps',
    'Store: db/tidemark, told by here',
    'https://tidemark.example.com',
  ].join('\n');
  const [slack, discord, ntfy] = received;
  expect(JSON.parse(slack?.body ?? '')).toEqual({ text: lines.replace('<@everyone>', '&lt;@everyone&gt;') });
  expect(JSON.parse(discord?.body ?? '')).toEqual({ content: lines, allowed_mentions: { parse: [] } });
  expect(ntfy?.body).toBe(lines.replace('db/tidemark', 'db/prüfung'));
  expect(ntfy?.headers).toMatchObject({
    ...{ priority: '4', tags: 'rotating_light', click: 'https://tidemark.example.com/', authorization: 'Bearer tk_1' },
    title: `=?UTF-8?B?${Buffer.from('Tidemark trouble: db/prüfung').toString('base64')}?=`,
  });
});

test('a headline that says since when it holds has no second beginning', () => {
  const { headline } = message;
  const text = 'kraken is unreachable since 2026-11-20 11:58Z';
  expect(linesOf({ ...message, headline: { ...headline, kind: 'source_away', text } })).toEqual([
    ...[`Trouble: ${text}`, 'See: tidemark gaps', 'Store: db/tidemark, told by here', 'https://tidemark.example.com'],
  ]);
  // Of the budget, not of the condition.
  const lowered = 'limited by the budget of 100 requests a minute (lowered from 200 since 2026-11-01 06:00Z)';
  const limited = { ...headline, kind: 'limited_by_budget', text: lowered } as const;
  expect(linesOf({ ...message, headline: limited })[1]).toBe('Since 2026-11-20 12:00Z, 2 min ago');
});

test('a template is filled with texts that stay text', async () => {
  const { url, documents } = await startHook();
  const template = `'{"title": "{event} at {store}", "text": "{headline}", "before": "{before}", "kept": "{nothing}"}'`;
  expect(await sendTo(`{ webhook: '${url}', template: ${template} }`)).toEqual({ kind: 'sent' });
  expect(documents()).toEqual([
    { title: 'trouble at db/tidemark', text: message.headline.text, before: '', kept: '{nothing}' },
  ]);
  expect(problemOf(`{ webhook: '${url}', template: '{headline}' }`)).toContain('is not JSON');
});

test('says what goes wrong without the answer, and whether a later attempt may help', async () => {
  const { url, answers } = await startHook();
  const failed = async (status: number, headers = {}) => {
    answers.push({ status, headers });
    return sendTo(`{ webhook: '${url}/tOkEn' }`);
  };
  const at = (status: number, isTransient: boolean, retryAfterMs = 0) => ({
    ...{ kind: 'failed', cause: `answered ${status}`, isTransient, retryAfterMs },
  });
  expect(await failed(503)).toEqual(at(503, true));
  expect(await failed(429, { 'retry-after': '2' })).toEqual(at(429, true, 2000));
  expect(await failed(404)).toEqual(at(404, false));
  expect(await failed(302, { location: `${url}/elsewhere` })).toEqual(at(302, false));
  expect(await sendTo(`{ webhook: 'http://127.0.0.1:1/tOkEn' }`)).toMatchObject({
    cause: 'cannot be reached: ECONNREFUSED',
    isTransient: true,
  });
  answers.push('never');
  const target = targetAt(`{ webhook: '${url}/tOkEn' }`);
  expect(await send(target, message, { clock: systemClock, timeoutMs: 50 })).toMatchObject({
    cause: 'no answer within 0 s',
    isTransient: true,
  });
});

test('addresses are of https, of a private network also http, and shown without what is secret', () => {
  expect(problemOf('{ webhook: http://example.com/x }')).toContain('must begin with https://');
  expect(problemOf('{ webhook: http://8.8.8.8/x }')).toContain('must begin with https://');
  for (const host of ['localhost:80', '127.0.0.1', '192.168.1.4', '[::1]', '[fd00::1]', 'ntfy', 'ntfy.lan', '10.1.2.3'])
    expect(problemOf(`{ ntfy: 'http://${host}/topic' }`)).toBeNull();
  expect(problemOf('{ ntfy: https://ntfy.sh }')).toBe('its address has no topic');
  expect(problemOf('{ slack: $HOOK }')).toBe('HOOK is not set');
  expect(problemOf('{ slack: /nowhere }')).toBe('/nowhere is empty or cannot be read');
  expect(problemOf('{ slack: $HOOK }', { HOOK: 'tOkEn' })).toBe('its address cannot be read');
  expect(problemOf('{ mail: { to: a@b.c, from: d@e.f, smtp: $S } }', { S: 'https://x' })).toContain('smtps://');
  const file = join(emptyDirectory(), 'hook');
  writeFileSync(file, 'https://user:tOkEn@hooks.slack.com/services/tOkEn\n');
  const target = targetAt(`{ slack: '${file}' }`);
  expect(target.url.pathname).toBe('/services/tOkEn');
  expect(shownAddress(target)).toBe('https://hooks.slack.com');
});

const mailServers: Array<[name: string, scheme: string, isSecure: boolean, options: SMTPServerOptions]> = [
  ['SMTP', 'smtp', false, { allowInsecureAuth: true, disabledCommands: ['STARTTLS'] }],
  ['SMTP with STARTTLS', 'smtp', true, {}],
  ['SMTP over TLS', 'smtps', true, { secure: true }],
];

test.each(mailServers)('mail goes by %s, with a login, and a refusal of it is final', async (...given) => {
  const [, scheme, isSecure, options] = given;
  const mails: Array<{ to: string[]; login: string | undefined; isSecure: boolean; body: string }> = [];
  const server = new SMTPServer({
    ...{ authOptional: true, ...options },
    onAuth: ({ username, password }, _session, callback) =>
      password === 'tOkEn' ? callback(null, { user: username }) : callback(new Error(`no password ${password}`)),
    onData: (stream, session, callback) => {
      void text(stream).then((body) => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ to, login: session.user as string | undefined, isSecure: session.secure, body });
        callback();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  const yaml = '{ mail: { to: [a@example.com, b@example.com], from: Tidemark <t@example.com>, smtp: $SMTP } }';
  const smtp = (login: string) => ({ SMTP: `${scheme}://${login}127.0.0.1:${port}` });
  expect(await sendTo(yaml, smtp('ops%40example.com:tOkEn@'))).toEqual({ kind: 'sent' });
  expect(mails).toMatchObject([{ to: ['a@example.com', 'b@example.com'], login: 'ops@example.com', isSecure }]);
  expect(mails[0]?.body).toContain('Subject: Tidemark trouble: db/tidemark');
  expect(mails[0]?.body).toContain('See: tidemark gaps');
  expect(mails[0]?.body).not.toContain('tOkEn');
  expect(await sendTo(yaml, smtp('ops:wrong@'))).toEqual({
    ...{ kind: 'failed', cause: 'the mail server failed: EAUTH 535', isTransient: false, retryAfterMs: 0 },
  });
});

test('docs/notify.md has examples that are valid, and verifies a signature', async () => {
  const page = readFileSync('docs/notify.md', 'utf8');
  const blocks = (language: string) =>
    [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code);
  const lists = blocks('yaml').map((code) => readWatchList(code, message.atMs));
  expect(lists.map((read) => (read.kind === 'problems' ? read.problems : read.kind))).toEqual(lists.map(() => 'list'));
  const examples = lists.flatMap((read) => (read.kind === 'list' ? read.list.notify : []));
  const anyValue = new Proxy({}, { get: (_, name) => (name === 'SMTP_URL' ? 'smtps://a:b@c' : 'https://host/x') });
  const targets = examples.map((entry) =>
    targetOf({ ...entry, address: entry.address.replace(/^\/.*/, '$A') }, anyValue),
  );
  expect(targets.filter((target) => 'problem' in target)).toEqual([]);
  expect(new Set(examples.map(({ kind }) => kind)).size).toBe(5);

  const { url, received } = await startHook();
  await sendTo(`{ webhook: '${url}', secret: $SECRET }`, { SECRET: 'tOkEn' });
  const { headers = {}, body = '' } = received[0] ?? {};
  const file = join(emptyDirectory(), 'verify.mjs');
  writeFileSync(file, blocks('js').join(''));
  const { isFromTidemark } = (await import(file)) as { isFromTidemark(...parts: unknown[]): boolean };
  const { 'x-tidemark-signature': header } = headers;
  expect(isFromTidemark(header, body, 'tOkEn', message.atMs)).toBe(true);
  expect(isFromTidemark(header, `${body} `, 'tOkEn', message.atMs)).toBe(false);
  expect(isFromTidemark(header, body, 'other', message.atMs)).toBe(false);
  expect(isFromTidemark(header, body, 'tOkEn', message.atMs + 3_600_000)).toBe(false);
  expect(isFromTidemark(undefined, body, 'tOkEn', message.atMs)).toBe(false);
  const [document] = blocks('json').map((code) => JSON.parse(code) as object);
  expect(Object.keys(document ?? {})).toEqual(Object.keys(JSON.parse(body)));
});

test('a mistake in the file is named without its value', () => {
  const problems = (yaml: string) => {
    const read = readWatchList(yaml, message.atMs);
    return read.kind === 'problems' ? read.problems.map((one) => one.message).join('\n') : '';
  };
  for (const [yaml, said] of [
    ['notify: https://host/tOkEn', 'notify must be a list'],
    ['notify: [https://host/tOkEn]', 'must be a map such as { slack: $SLACK_WEBHOOK }'],
    ['notify: [{ slack: { url: https://host/tOkEn } }]', 'slack must be an https address, or $NAME'],
    ['notify: [{ slak: https://host/tOkEn }]', 'there is no "slak" here: did you mean "slack"?'],
    ['notify: [{ mail: https://host/tOkEn }]', 'mail must be a map'],
    ['notify: [{ slack: https://host/tOkEn, discord: https://host/tOkEn }]', 'needs one of slack, discord'],
    ['notify: [{ slack: https://host/tOkEn, secret: tOkEn }]', 'has a secret, which only a webhook has'],
    ['notify: [{ slack: https://host/tOkEn, level: tOkEn }]', 'level must be one of bad, waiting'],
    ['notify: [{ slack: https://a/x, name: ops }, { slack: https://b/x, name: ops }]', 'the name ops'],
  ] as const) {
    expect(problems(yaml)).toContain(said);
    expect(problems(yaml)).not.toContain('tOkEn');
  }
});
