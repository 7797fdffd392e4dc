import { type Command, Option } from 'commander';
import { badArgument } from '../../errors.ts';
import {
  type AnswerForm,
  answerForms,
  type BanForm,
  banForms,
  type Faults,
  profilesOfForm,
  type RateLimitHeader,
  rateLimitHeaders,
} from '../../simulator/faults/faults.ts';
import { defaultSeed } from '../../simulator/hash.ts';
import { type VenueName, venueNames } from '../../simulator/venues/venue.ts';
import { parseWhole } from '../input/parse-options.ts';

const service = 'market-data-service';

/** Options that make the simulator misbehave: name, meaning, and the fault they set. */
const faultOptions = [
  ['error-rate', 'share of requests answered with 500', 'errorRate'],
  ['timeout-rate', 'share of requests never answered', 'timeoutRate'],
  ['truncate-rate', 'share of answers cut off in the middle of the JSON', 'truncateRate'],
  ['html-rate', 'share of answers that are an HTML page', 'htmlRate'],
  ['not-found-rate', 'share of valid requests answered with a text 404', 'notFoundRate'],
  ['empty-rate', 'share of lists, or of candles of a venue, answered without a row', 'emptyRate'],
  ['rate-limit-rate', 'share of requests that begin a burst of 429, or of its like', 'rateLimitRate'],
  ['rate-limit-burst', 'requests that such a burst refuses', 'rateLimitBurst'],
  ['rate-limit-reset-ms', 'retry delay that such a burst reports', 'rateLimitResetMs'],
  ['reset-rate', 'share of answers whose connection breaks within the body', 'resetRate'],
  ['stale-rate', 'share of stale answers', 'staleRate'],
  ['stale-ms', 'how long ago that is', 'staleMs'],
  ['drip-rate', 'share of answers that come a byte at a time and never end', 'dripRate'],
  ['huge-rate', 'share of answers with a huge body', 'hugeRate'],
  ['huge-bytes', 'size of such a body', 'hugeBytes'],
  ['latency-ms', 'wait before every answer', 'latencyMs'],
  ['max-rows', 'silent cap on the rows of candles and history', 'maxRows'],
  ['clock-offset-ms', 'offset of its clock; negative: behind', 'clockOffsetMs'],
  ['revise-rate', 'share of candles and history points that change after they have closed', 'reviseRate'],
  ['revise-after-ms', 'how long after that', 'reviseAfterMs'],
  ['ban-ms', 'how long it bans every address from its start on', 'banMs'],
  ['bad-file-rate', 'archives: share of files with a defect', 'badFileRate'],
  ['rows-before-start', 'coinbase: candles before the start of a range', 'rowsBeforeStart'],
] as const satisfies ReadonlyArray<
  readonly [string, string, Exclude<keyof Faults, 'rateLimitHeader' | 'banForm' | 'answerForm' | 'capKeeps'>]
>;

/** Options that only some profiles have. */
const ownOptions: ReadonlyArray<readonly [string, string, readonly string[]]> = [
  ['rateLimitHeader', '--rate-limit-header', [service]],
  ['rowsBeforeStart', '--rows-before-start', ['coinbase']],
  ['badFileRate', '--bad-file-rate', venueNames.filter((name) => name.includes('-archive'))],
  ['apiKey', '--api-key', ['coincap-v3']],
  ['creditsPerMonth', '--credits-per-month', ['coincap-v3']],
];

export function simulateCommand(command: Command): void {
  command
    .addOption(
      new Option('--profile <name>', 'the source to simulate').choices([service, ...venueNames]).default(service),
    )
    .option('--port <port>', 'port to listen on; 0 takes a free one', '4010')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--seed <seed>', 'the same seed gives the same data', defaultSeed)
    .option(
      '--per-minute <count>',
      "requests, or weight, in a minute; 0 for no limit (default: the venue's; service: 200, with a key 500)",
    );
  for (const [name, meaning] of faultOptions) command.option(`--${name} <number>`, meaning);
  command
    .addOption(
      new Option('--rate-limit-header <form>', 'service: header with the retry time of a 429').choices(
        rateLimitHeaders,
      ),
    )
    .addOption(new Option('--ban-form <form>', 'how it refuses during a ban').choices(banForms))
    .addOption(new Option('--answer-form <form>', 'what is wrong with its candles and history').choices(answerForms))
    .option('--api-key <key>', 'coincap-v3: the key without which it refuses requests')
    .option('--credits-per-month <count>', 'coincap-v3: credits of a month (default: no limit)')
    .action(simulate);
}

async function simulate(options: Record<string, string>): Promise<void> {
  const { profile = service } = options;
  for (const [name, option, owners] of ownOptions) {
    if (options[name] !== undefined && !owners.includes(profile))
      throw badArgument(`the profile ${profile} has no ${option}`);
  }
  const owners = profilesOfForm[options.answerForm as AnswerForm] ?? [profile];
  if (!owners.includes(profile))
    throw badArgument(`the answers of ${profile} cannot be ${options.answerForm}: those of ${owners.join(', ')} can`);
  const perMinute = options.perMinute === undefined ? undefined : parseWhole(options.perMinute, '--per-minute', 0, 1e6);
  const { apiKey, creditsPerMonth } = options;
  const faults = faultsOf(options);
  const port = parseWhole(options.port ?? '4010', '--port', 0, 65_535);
  const { run } = await import('../actions/simulate.ts');
  await run(profile === service ? null : (profile as VenueName), {
    port,
    host: options.host ?? '127.0.0.1',
    seed: options.seed ?? defaultSeed,
    ...(perMinute === undefined ? {} : { perMinute: perMinute === 0 ? null : perMinute }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(creditsPerMonth === undefined
      ? {}
      : { creditsPerMonth: parseWhole(creditsPerMonth, '--credits-per-month', 0, 1e9) }),
    faults,
  });
}

/** @throws TidemarkError BAD_ARGUMENT */
function faultsOf(options: Readonly<Record<string, string>>): Partial<Faults> {
  const faults: Partial<Record<(typeof faultOptions)[number][2], number>> = {};
  for (const [name, , fault] of faultOptions) {
    const text = options[fault];
    if (text === undefined) continue;
    if (fault.endsWith('Rate')) faults[fault] = share(`--${name}`, text);
    else if (fault === 'clockOffsetMs' && text.startsWith('-'))
      faults[fault] = -parseWhole(text.slice(1), `--${name}`, 0, 1e9);
    else faults[fault] = parseWhole(text, `--${name}`, 0, 1e9);
  }
  const form = options.rateLimitHeader;
  return {
    ...faults,
    ...(form === undefined ? {} : { rateLimitHeader: form as RateLimitHeader }),
    ...(options.banForm === undefined ? {} : { banForm: options.banForm as BanForm }),
    ...(options.answerForm === undefined ? {} : { answerForm: options.answerForm as AnswerForm }),
  };
}

function share(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw badArgument(`${option} ${JSON.stringify(text)} is not a share from 0 to 1`);
}
