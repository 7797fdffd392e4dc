import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { cachedForMs, type Faults } from '../../simulator/faults/faults.ts';
import { startSimulator } from '../../simulator/start.ts';
import { startVenueSimulator } from '../../simulator/venues/start.ts';
import { venueNames } from '../../simulator/venues/venue.ts';
import { profiles } from '../../sources/profiles/profiles.ts';
import type { SourceErrorKind } from '../../sources/source-error.ts';
import { SourceError } from '../../sources/source-error.ts';
import { clockAt } from '../parts/test-clock.ts';
import { openVenues } from '../scripts/commands/watch-list-parts.ts';
import { sourceAt } from '../sources/local-server.ts';
import { candlesAt, historyAt } from '../sources/points-at.ts';
import { symbols } from '../sources/profiles/venue-at.ts';

const service = 'market-data-service';
/** The other budgets of an address answer as the first one does. */
const names = [
  service,
  ...venueNames.filter((name) =>
    profiles[name]?.offers.some(({ dataset }) => /^(candles|asset_history)$/.test(dataset)),
  ),
] as const;
const nowMs = Date.UTC(2024, 4, 16, 10, 7, 31);
const clock = clockAt(() => nowMs);

/** A request of hours at the simulated venue. */
async function ask(name: (typeof names)[number], faults: Partial<Faults>) {
  const options = { perMinute: null, clock, faults };
  const venue = await (name === service ? startSimulator(options) : startVenueSimulator({ profile: name, ...options }));
  onTestFinished(() => venue.close());
  const profile = profiles[name];
  if (profile === undefined) throw new Error(`no profile ${name}`);
  const isArchive = profile.files !== null;
  const source = sourceAt(venue.url, { profile, clock, apiKey: 'a-key-of-the-test' });
  const endMs = isArchive ? Date.UTC(2024, 3, 1) : nowMs - (nowMs % hourMs);
  const range = {
    interval: 'h1',
    start: endMs - (isArchive ? (profile.files?.unit === 'day' ? 1 : 31) * dayMs : 40 * hourMs),
    end: endMs,
  } as const;
  const exchange = name === service ? 'binance' : name;
  const market = { exchange, baseId: 'bitcoin', quoteId: 'tether', symbol: symbols[name] ?? 'BTCUSDT' };
  return name === 'coincap-v3' ? historyAt(source, 'bitcoin', range) : candlesAt(source, { ...market, ...range });
}

type Answer = Awaited<ReturnType<typeof ask>>;

const whom: Partial<Record<SourceErrorKind, string>> = {
  rate_limited: 'the address',
  address_refused: 'the address',
  country_refused: 'the country',
  unauthorized: 'the key',
  server_error: 'the source',
};

function refusal(answer: Answer | SourceError): string {
  if (!(answer instanceof SourceError)) return 'none';
  const concerned = whom[answer.kind] ?? answer.kind;
  return `${concerned}, ${answer.retryAtMs === null ? 'growing' : 'as stated'}`;
}

/** Of an answer that must not be refused. */
const given = (of: (answer: Answer) => string) => (answer: Answer | SourceError) =>
  answer instanceof SourceError ? `refused: ${answer.kind}` : of(answer);

const ban = { banMs: 10 * minuteMs };
const behaviours: ReadonlyArray<readonly [string, Partial<Faults>, (answer: Answer | SourceError) => string]> = [
  ['its own ban', ban, refusal],
  ['the same, without a time', { ...ban, banForm: 'no-time' }, refusal],
  ['too many requests', { rateLimitRate: 1 }, refusal],
  ['402', { ...ban, banForm: 'payment' }, refusal],
  ['403 of a firewall', { ...ban, banForm: 'firewall' }, refusal],
  ['451', { ...ban, banForm: 'country' }, refusal],
  ['503 with `Retry-After`', { ...ban, banForm: 'unavailable' }, refusal],
  ['503 without it', { ...ban, banForm: 'unavailable-no-time' }, refusal],
  [
    'an answer for another market',
    { answerForm: 'another-market' },
    (answer) => (answer instanceof SourceError ? 'unreadable' : 'names none'),
  ],
  [
    'a row that is open',
    { answerForm: 'open-rows' },
    given((answer) =>
      'isWhole' in answer
        ? 'closed files'
        : 'known' in answer && answer.known !== null
          ? 'not covered'
          : 'by the clock',
    ),
  ],
  [
    'two rows of a period that differ',
    { answerForm: 'contradiction' },
    given(({ rejected }) =>
      rejected.filter(({ isDisputed }) => isDisputed).length === 2 ? 'both rejected' : 'stored',
    ),
  ],
  [
    'exchanged volumes',
    { answerForm: 'exchanged-volumes' },
    given(({ rows, rejected }) => (rows.length === 0 && rejected.length > 1 ? 'rejected' : 'has one volume at most')),
  ],
  [
    'an answer of a cache',
    { answerForm: 'cached' },
    given((answer) =>
      'isWhole' in answer
        ? 'closed files'
        : (answer.sourceTimeMs ?? nowMs) <= nowMs - cachedForMs
          ? 'covered up to its age'
          : 'not heeded',
    ),
  ],
];

async function cellsOf([title, faults, read]: (typeof behaviours)[number]): Promise<string[]> {
  const cells: string[] = [title];
  for (const name of names) cells.push(read(await ask(name, faults).catch((error: unknown) => error as SourceError)));
  return cells;
}

/** Requests of the second of two equal backfills. */
async function secondBackfill(): Promise<string[]> {
  const opened = await openVenues(venueNames);
  const simulator = await startSimulator();
  onTestFinished(() => simulator.close());
  opened.list({ 'coincap-v3': ', key-variable: COINCAP_KEY' }, `  ${service}: { url: '${simulator.url}' }\n`);
  const cells = ['a second backfill'];
  for (const name of names) {
    const what =
      {
        'coincap-v3': 'history --asset bitcoin',
        kraken: 'candles --symbol BTC/USD',
        coinbase: 'candles --symbol BTC/USD',
        'binance-coinm': 'candles --symbol BTC/USD:BTC',
        'binance-usdm': 'candles --symbol BTC/USDT:USDT',
        'bybit-linear': 'candles --symbol BTC/USDT:USDT',
        'okx-swap': 'candles --symbol BTC/USDT:USDT',
        'binance-usdm-archive': 'candles --symbol BTC/USDT:USDT',
        [service]: 'candles --exchange binance --base bitcoin --quote tether',
      }[name as string] ?? 'candles --symbol BTC/USDT';
    const range = name.includes('-archive') ? '--from 2024-03-01 --to 2024-04-01' : '--from 2d --to 1d';
    const words = `backfill ${what} --source ${name} --interval h1 ${range} --json`;
    await opened.say(words, { COINCAP_KEY: 'a-key' });
    const { requests } = JSON.parse(await opened.say(words, { COINCAP_KEY: 'a-key' })) as { requests: number };
    cells.push(`${requests} requests`);
  }
  return cells;
}

test('docs/sources.md says what each profile does with refusals and with answers that cannot be believed', async () => {
  const rows = [];
  for (const behaviour of behaviours) rows.push(await cellsOf(behaviour));
  rows.push(await secondBackfill());
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  const head = line(['what comes', ...names.map((name) => `\`${name}\``)]);
  const table = head + line(['', ...names].map(() => '---')) + rows.map(line).join('');
  expect(readFileSync('docs/sources.md', 'utf8')).toContain(table);
});
