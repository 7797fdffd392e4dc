/** `tidemark notify`: who is told of the headline, and what they were told. `--test` sends each of them a message. */

import { systemClock } from '../../clock.ts';
import { badArgument, codeOf, messageOf, TidemarkError } from '../../errors.ts';
import { formatDuration, formatTime, isoTime, wholeSecond } from '../../model/format.ts';
import { type Sent, send } from '../../notify/send.ts';
import { shownAddress, type Target, targetOf } from '../../notify/targets.ts';
import { nothing, type Remembered } from '../../notify/teller.ts';
import { configFromEnvironment, withContext } from '../../runtime/context.ts';
import { namesForTold } from '../../runtime/telling.ts';
import type { Config } from '../../settings/config.ts';
import { readFailures, readNotified, type ShownFailure, writeTested } from '../../store/settings/notifications.ts';
import { readNotifyEntries } from '../../watch-list/source-entries.ts';
import type { NotifyEntry } from '../../watch-list/watch-list.ts';
import type { JsonDocument } from '../output/documents.ts';
import { type Column, printText, table, terminalWidth } from '../output/table.ts';

export interface NotifyOptions {
  readonly test?: true;
  readonly json?: true;
}

interface Line {
  readonly entry: NotifyEntry;
  readonly target: ReturnType<typeof targetOf>;
}

export async function run(names: readonly string[], { test, json }: NotifyOptions): Promise<void> {
  const config = configFromEnvironment();
  const lines = await linesOf(config, names);
  if (test) return sendTests(config, lines, json === true);
  await withContext({ command: 'notify', config, needsDatabase: true, showsStored: true }, async ({ database }) => {
    const known = (await readNotified(database.pool)) as ReadonlyMap<string, Remembered>;
    const failures = await readFailures(database.pool);
    const shown = lines.map((line) => {
      const { name } = line.entry;
      return { ...line, ...(known.get(name) ?? nothing), failure: failures.get(name) ?? null };
    });
    if (json) console.log(JSON.stringify(targetsJson(shown), null, 2));
    else if (shown.length === 0) printText('nobody is told: the watch list has no `notify`');
    else console.log(table(columns, shown, terminalWidth()));
  });
}

/** @throws TidemarkError BAD_WATCH_LIST, BAD_ARGUMENT for a name that no target has. */
async function linesOf({ watchList }: Config, names: readonly string[]): Promise<Line[]> {
  const entries = watchList === undefined ? [] : await readNotifyEntries(watchList);
  const unknown = names.find((name) => !entries.some((one) => one.name === name));
  if (unknown !== undefined)
    throw badArgument(
      `no target of notify is named ${JSON.stringify(unknown)}`,
      entries.length === 0 ? `${watchList} has no notify` : `use one of ${entries.map(({ name }) => name).join(', ')}`,
    );
  const wanted = names.length === 0 ? entries : entries.filter(({ name }) => names.includes(name));
  return wanted.map((entry) => ({ entry, target: targetOf(entry) }));
}

/** One attempt each, at the same time. @throws TidemarkError NOT_DELIVERED */
async function sendTests(config: Config, lines: readonly Line[], json: boolean): Promise<void> {
  if (lines.length === 0) throw badArgument('the watch list has no notify: there is nobody to tell');
  const clock = systemClock;
  const results = await Promise.all(lines.map(async (line) => ({ ...line, cause: causeOf(await sendTest(line)) })));
  if (json) console.log(JSON.stringify(testsJson(results), null, 2));
  else
    for (const { entry, target, cause } of results)
      printText(`${entry.name} ${cause === null ? 'sent' : 'failed'}: ${cause ?? shownAddress(target)}`);
  const failed = results.filter(({ cause }) => cause !== null);
  const delivered = results.flatMap(({ cause, entry }) => (cause === null ? [entry.name] : []));
  await storeTested(config, delivered, clock.now());
  if (failed.length > 0)
    throw new TidemarkError(
      'NOT_DELIVERED',
      `${failed.length} of ${results.length} targets did not take the message: ` +
        failed.map(({ entry }) => entry.name).join(', '),
    );

  async function sendTest({ entry, target }: Line): Promise<Sent> {
    if ('problem' in target) return { kind: 'failed', cause: target.problem, isTransient: false, retryAfterMs: 0 };
    const nowMs = clock.now();
    const headline = { kind: 'healthy', level: 'ok', text: 'this is a test', source: null, command: null } as const;
    const names = namesForTold(config);
    const message = { event: 'test', headline, sinceMs: nowMs, atMs: nowMs, before: null, link: entry.link } as const;
    return send(target satisfies Target, { ...message, ...names }, { clock });
  }
}

/** The messages were delivered, whether the database answers or not. */
async function storeTested(config: Config, names: readonly string[], atMs: number): Promise<void> {
  if (names.length === 0) return;
  const options = { command: 'notify', config, needsDatabase: true, showsStored: true } as const;
  try {
    await withContext(options, ({ database }) => writeTested(database, names, atMs));
  } catch (error) {
    // Nobody tells yet, and nothing has failed.
    if (codeOf(error) === 'NO_DATABASE') return;
    console.error(`tidemark: status does not know that messages were delivered: ${messageOf(error)}`);
  }
}

const causeOf = (sent: Sent): string | null => (sent.kind === 'sent' ? null : sent.cause);

type Shown = Line & Omit<Remembered, 'failure'> & { readonly failure: ShownFailure | null };

const columns: readonly Column<Shown>[] = [
  { title: 'target', value: ({ entry }) => entry.name },
  { title: 'kind', value: ({ entry }) => entry.kind, omit: 3 },
  { title: 'address', value: ({ target }) => shownAddress(target) ?? '', omit: 4, shorten: 'end' },
  { title: 'level', value: ({ entry }) => entry.level, omit: 2 },
  { title: 'after', value: ({ entry }) => formatDuration(entry.afterMs), omit: 1 },
  { title: 'every', value: ({ entry }) => (entry.everyMs === null ? 'off' : formatDuration(entry.everyMs)), omit: 1 },
  { title: 'told', value: toldText, shorten: 'end' },
  { title: 'waits', value: waitsText, shorten: 'end' },
];

const at = (timeMs: number) => formatTime(wholeSecond(timeMs));

function toldText({ told }: Shown): string {
  return told === null || !told.isKnown ? 'no trouble' : `${told.event} at ${at(told.atMs)}: ${told.text}`;
}

function waitsText({ target, waits, failure }: Shown): string {
  if ('problem' in target) return target.problem;
  if (failure?.isUntold === true) return `not told since ${at(failure.sinceMs)}: ${failure.cause}`;
  if (failure !== null) return `failed at ${at(failure.atMs)}: ${failure.cause}`;
  return waits === null ? '' : `${waits.event} at ${at(waits.atMs)}: ${waits.text}`;
}

function targetsJson(shown: readonly Shown[]): JsonDocument<'notify'> {
  return {
    targets: shown.map(({ entry, target, told, waits, failure }) => ({
      name: entry.name,
      kind: entry.kind,
      address: shownAddress(target),
      problem: 'problem' in target ? target.problem : null,
      level: entry.level,
      afterSeconds: entry.afterMs / 1000,
      everySeconds: entry.everyMs === null ? null : entry.everyMs / 1000,
      told:
        told === null || !told.isKnown
          ? null
          : { event: told.event, condition: told.kind, level: told.level, text: told.text, time: isoTime(told.atMs) },
      waits: waits === null ? null : { event: waits.event, text: waits.text, time: isoTime(waits.atMs) },
      failure: failure === null ? null : failureJson(failure),
    })),
  };
}

function failureJson({ cause, sinceMs, atMs, attempts, isUntold }: ShownFailure) {
  return { cause, since: isoTime(sinceMs), time: isoTime(atMs), attempts, isUntold };
}

function testsJson(results: readonly (Line & { readonly cause: string | null })[]): JsonDocument<'notify-test'> {
  return {
    targets: results.map(({ entry, target, cause }) => ({
      ...{ name: entry.name, kind: entry.kind, address: shownAddress(target) },
      ...{ isSent: cause === null, cause },
    })),
  };
}
