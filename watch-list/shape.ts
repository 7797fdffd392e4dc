/** The schema of `tidemark.yaml`. docs/tidemark.schema.json is generated from it, for editors. */

import { z } from 'zod';
import type { Dataset } from '../model/dataset.ts';
import {
  assetDatasets,
  type DatasetName,
  type Datasets,
  datasetNames,
  datasets,
  marketDatasets,
} from '../model/datasets/index.ts';
import { type Interval, intervalMs, minuteMs } from '../model/intervals.ts';
import { assetLists, eachList, lists, wholeLists } from '../model/lists/index.ts';
import { mayBeName } from '../model/names.ts';
import { storedWords } from '../model/stored-datasets.ts';
import { isAge, parseDuration, parseInterval, parseIsoTime, wrongInterval } from '../model/time-text.ts';
import { didYouMean } from '../planning/near-names.ts';
import { mayHoldCredentials } from '../redaction.ts';
import { type Problem, type TargetKind, targetKinds, toldLevels } from './watch-list.ts';
import type { Located } from './yaml.ts';

/** Names that a file gives to sources and to targets of `notify`. */
const nameOfPart = /^[a-z][a-z0-9-]{0,30}$/;

/** The message for a wrong type. YAML reads unquoted numbers as numbers, and an empty value as null. */
const wrong =
  (expected: string) =>
  (issue: { code?: string; input?: unknown }): string | undefined => {
    if (issue.code !== 'invalid_type') return undefined;
    const { input } = issue;
    if (input === undefined) return `is missing: it must be ${expected}`;
    if (input === null) return `must be ${expected}, but it is empty`;
    const isScalar = typeof input === 'number' || typeof input === 'boolean';
    const quotes = isScalar && expected.includes('text') ? ': put it in quotes' : '';
    return `must be ${expected}, not ${kindOf(input)}${quotes}`;
  };

function kindOf(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'object') return 'a map';
  return typeof input === 'string' ? `the text ${shown(input)}` : `the ${typeof input} ${String(input)}`;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/** A map of exactly these keys. The message has a line per unknown key. */
function map<Shape extends z.core.$ZodLooseShape>(expected: string, shape: Shape, wrongOf = wrong) {
  const known = Object.keys(shape);
  const unknown = (key: string) =>
    `there is no ${shown(key)} here${didYouMean(key, known) || `, only ${known.join(', ')}`}`;
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map(unknown).join('\n') : wrongOf(expected)(issue),
  });
}

const byWord = <Word extends string, Value>(words: readonly Word[], value: (word: Word) => Value) =>
  Object.fromEntries(words.map((word) => [word, value(word)])) as Record<Word, Value>;

const text = (expected: string) => z.string({ error: wrong(expected) });
const list = <Item extends z.ZodType>(item: Item, expected: string) => z.array(item, { error: wrong(expected) });
const oneOrMany = <Item extends z.ZodType>(item: Item) =>
  z.union([item, z.array(item).min(1, 'must name at least one, but the list is empty')]);

const name = text('text').check((context) => {
  const { value } = context;
  if (!mayBeName(value)) {
    context.issues.push({ code: 'custom', message: `${shown(value)} is not an id or a pattern`, input: value });
  }
});
const names = oneOrMany(name).describe('An id, or a pattern with * and ?, or a list of them.');

const intervals = (dataset: Dataset) => {
  const { intervals: known } = dataset;
  const some = oneOrMany(
    z.enum(known, {
      error: (issue) =>
        typeof issue.input === 'string'
          ? wrongInterval(issue.input, dataset)
          : wrong(`one of ${known.join(', ')}`)({ ...issue, code: 'invalid_type' }),
    }),
  );
  const [only, another] = known;
  return another === undefined && only !== undefined ? some.prefault(only) : some;
};

const textThat = (isValid: (value: string) => boolean, expected: string) =>
  text(expected).refine(isValid, { error: (issue) => notA(issue, expected) });
const isTime = (value: string) => parseIsoTime(value) !== null;
const isLength = (value: string) => parseInterval(value) !== null;

const from = textThat(
  (value) => isAge(value) || isTime(value),
  'a date such as 2024-01-31 (UTC) or an age such as 5y',
).describe('Where it begins: a date or time in UTC, or an age, which counts back from when it is first applied.');
const to = textThat(isTime, 'a date such as 2024-01-31 (UTC)').describe(
  'Where it ends (excluded); without it the series are followed into the future.',
);
const cadence = 'a length from 10s to 366d, such as 30s, 5m, 1h or 1d';
const every = textThat(isLength, cadence);
const everyOrOff = textThat((value) => value === 'off' || isLength(value), `${cadence}, or off`);
const keptFor = textThat(
  (value) => value === 'off' || isAge(value),
  'an age of at least a day, such as 2y or 90d, or off',
);

function notA(issue: { input?: unknown }, expected: string): string {
  return `must be ${expected}, not ${shown(String(issue.input))}`;
}

const whole = (least: number, most: number) => {
  const expected = `a whole number from ${least} to ${most}`;
  const error = (issue: { code?: string; input?: unknown }) =>
    wrong(expected)(issue) ?? `must be ${expected}, not ${String(issue.input)}`;
  return z.int({ error, abort: true }).min(least, { error }).max(most, { error });
};
const top = whole(1, 100_000).describe('Number of assets: those that rank first by market capitalisation.');

const market = { exchange: names.optional(), base: names.optional(), quote: names.optional() };
const exceptMarkets = oneOrMany(map('a map of exchange, base or quote', market));

const ofSource = oneOrMany(text('the name of a source')).describe(
  'The source that gives it; of a list the first, and each next one what those before it cannot give. By default ' +
    'SOURCE_URL.',
);

const marketEntry = (dataset: Dataset) =>
  map(`a map such as { exchange: binance, quote: tether, interval: ${dataset.intervals.at(-1)}, from: 5y }`, {
    ...market,
    source: ofSource.optional(),
    symbol: oneOrMany(name).describe('Markets of the source, such as BTC/USDT or */USDT.').optional(),
    top: top.optional(),
    interval: intervals(dataset),
    from,
    to: to.optional(),
    except: exceptMarkets.optional(),
  });

const assetEntry = (dataset: Dataset) =>
  map(`a map such as { asset: bitcoin, interval: ${dataset.intervals.at(-1)}, from: 11y }`, {
    asset: names.optional(),
    source: ofSource.optional(),
    top: top.optional(),
    interval: intervals(dataset),
    from,
    to: to.optional(),
    except: names.optional(),
  });

const datasetWords = datasetNames.map((name): string => datasets[name].word);

/** A key for each dataset: its word. */
const forDatasets = <Name extends DatasetName, Value>(names: readonly Name[], value: (dataset: Dataset) => Value) =>
  Object.fromEntries(names.map((name) => [datasets[name].word, value(datasets[name])])) as Record<
    Datasets[Name]['word'],
    Value
  >;

const entries = <Entry extends z.ZodType>(entry: Entry, { about }: Dataset) =>
  list(entry, 'a list of entries').describe(`Tracked series: ${about}.`).optional();

const assetList = map('a map such as { asset: bitcoin, every: 1h }', {
  asset: names.optional(),
  top: top.optional(),
  every,
  except: names.optional(),
});

/** Periods of one window. TimescaleDB decompresses so many at once when all of them change in the columnstore. */
const maxPeriods = 20_000;

const rangeOf = (interval: Interval) =>
  textThat((value) => {
    const periods = (parseDuration(value) ?? 0) / intervalMs[interval];
    return periods >= 1 && periods <= maxPeriods;
  }, `a length of 1 to ${maxPeriods} periods of ${interval}, such as 30d`).optional();

const rangesOf = ({ intervals: known }: Dataset) =>
  map(
    'a map such as { h8: 100d }',
    Object.fromEntries(known.map((name) => [name, rangeOf(name)])) as Record<Interval, ReturnType<typeof rangeOf>>,
  ).optional();

const source = map('a map such as { profile: binance, budget: 3000 }', {
  profile: text('the name of a profile').describe('How it speaks; by default the profile of its own name.').optional(),
  // The value may hold a password, and is not shown.
  url: text('an http or https address')
    .refine(
      (value) => URL.canParse(value) && /^https?:/.test(value) && !mayHoldCredentials(new URL(value)),
      'must be an http or https address without a name, a password or a query: a key belongs in key-variable or ' +
        'key-file',
    )
    .describe("Its base address; by default the profile's.")
    .optional(),
  'key-variable': text('the name of a variable').describe('The variable that holds its key.').optional(),
  'key-file': text('a path').describe('The file that holds its key.').optional(),
  archive: text('the name of a source')
    .describe('The source that has its history by months; by default that of the profile, at its public address only.')
    .optional(),
  credits: whole(1, 1_000_000_000)
    .describe('Credits of its plan in a month; by default those of the free plan.')
    .optional(),
  budget: whole(1, 1_000_000)
    .describe('What may be used of its limit each minute, in its unit (requests, weight); by default all.')
    .optional(),
  ranges: map('a map such as { candles: { h8: 100d } }', forDatasets(datasetNames, rangesOf))
    .describe('Of the source named default, SOURCE_URL: the longest range of a request, by interval.')
    .optional(),
});

/** Names of sources are parts of names of queues. */
const sourceName = z.string().regex(nameOfPart, 'must be lower-case letters, digits and hyphens');

export const sourcesShape = z.record(sourceName, source, {
  error: (issue) =>
    issue.code === 'invalid_key'
      ? 'has a name that is not lower-case letters, digits and hyphens'
      : wrong('a map of sources')(issue),
});

export const aliasesShape = z.record(z.string(), z.union([name, z.record(z.string(), name)]), {
  error: wrong('a map such as { BTC: bitcoin }'),
});

/** An address with a token may stand where it does not belong: no message shows the value. */
const secretText = (expected: string) => z.string({ error: `must be ${expected}` }).min(1, `must be ${expected}`);
const secretMap = <Shape extends z.core.$ZodLooseShape>(expected: string, shape: Shape) =>
  map(expected, shape, () => () => `must be ${expected}`);
const variable = '$NAME of a variable or the path of a file that holds it';
const webAddress = (what: string) => secretText(`an https address, or ${variable}`).describe(what).optional();
const mailAddress = secretText('an address such as ops@example.com');

const target = secretMap('a map such as { slack: $SLACK_WEBHOOK }', {
  slack: webAddress('An incoming webhook of Slack, or of what speaks like it.'),
  discord: webAddress('A webhook of Discord.'),
  ntfy: webAddress('A topic of ntfy, such as https://ntfy.sh/topic.'),
  webhook: webAddress('Gets a JSON document by POST.'),
  mail: secretMap('a map such as { to: ops@example.com, from: tidemark@example.com, smtp: $SMTP_URL }', {
    to: oneOrMany(mailAddress),
    from: mailAddress,
    smtp: secretText(`an address such as smtps://user:password@host:465, or ${variable}`),
  }).optional(),
  name: z.string().regex(nameOfPart, 'must be lower-case letters, digits and hyphens').optional(),
  secret: secretText(variable).describe('Signs what a webhook gets.').optional(),
  token: secretText(variable).describe('The access token of ntfy.').optional(),
  template: secretText('text with names in braces, such as {headline}')
    .describe('What a webhook gets instead: JSON with {headline} and other names.')
    .optional(),
  link: secretText('an http or https address')
    .refine((value) => /^https?:/.test(value) && URL.canParse(value), 'must be an http or https address')
    .describe('The address of the dashboard, for people.')
    .optional(),
  level: z
    .enum(toldLevels, { error: `must be one of ${toldLevels.join(', ')}` })
    .describe('The mildest level that is told; by default bad.')
    .optional(),
  after: every.describe('How long a state holds before it is told; by default 2m.').optional(),
  every: everyOrOff.describe('How often it is told again while it lasts; by default 4h.').optional(),
}).check((context) => {
  const { value } = context;
  // A mistyped key is the cause.
  if (context.issues.length > 0) return;
  const kinds = targetKinds.filter((kind) => value[kind] !== undefined);
  const wrong = (message: string) => context.issues.push({ code: 'custom', message, input: undefined });
  if (kinds.length !== 1) wrong(`needs one of ${targetKinds.join(', ')}`);
  if (value.secret !== undefined && value.webhook === undefined) wrong('has a secret, which only a webhook has');
  if (value.template !== undefined && value.webhook === undefined) wrong('has a template, which only a webhook has');
  if (value.token !== undefined && value.ntfy === undefined) wrong('has a token, which only ntfy has');
});

export type NotifyText = z.output<typeof target>;

export function targetKindOf(one: NotifyText): TargetKind {
  return targetKinds.find((kind) => one[kind] !== undefined) ?? 'webhook';
}

/** Targets without a name have that of their kind: slack, slack-2. */
export function targetNames(said: readonly NotifyText[]): string[] {
  const counts = new Map<TargetKind, number>();
  return said.map((one) => {
    const kind = targetKindOf(one);
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return one.name ?? (count === 1 ? kind : `${kind}-${count}`);
  });
}

export const notifyShape = z
  .array(target, { error: 'must be a list such as [{ slack: $SLACK_WEBHOOK }]' })
  .check(({ value, issues }) => {
    const names = targetNames(value);
    const again = names.find((name, index) => names.indexOf(name) < index);
    if (again !== undefined)
      issues.push({ code: 'custom', message: `has two targets with the name ${again}`, input: undefined });
  })
  .describe('Who is told when the headline of `tidemark status` changes.');

/** How often lists are polled by default. */
const defaults = new Map<string, string>(
  eachList.flatMap(({ word, polled, everyMs }) =>
    polled === 'by default' ? [[word, `${everyMs / minuteMs}m`] as const] : [],
  ),
);

export const watchListShape = map(`a map with ${datasetWords.join(', ')} or lists`, {
  ...forDatasets(marketDatasets, (dataset) => entries(marketEntry(dataset), dataset)),
  ...forDatasets(assetDatasets, (dataset) => entries(assetEntry(dataset), dataset)),
  lists: map('a map such as { assets: 5m, markets: 1h }', {
    ...byWord(
      wholeLists.map((name) => lists[name].word),
      (word) => (defaults.has(word) ? everyOrOff.describe(`By default ${defaults.get(word)}.`) : everyOrOff).optional(),
    ),
    ...byWord(
      assetLists.map((name) => lists[name].word),
      () => list(assetList, 'a list of entries').optional(),
    ),
  })
    .describe('Lists that are polled, and how often.')
    .optional(),
  'read-again': map('a map such as { periods: 2, days: 3, every: 24h }', {
    periods: whole(0, 100).describe('Closed periods that each refresh reads again; by default 2.').optional(),
    days: whole(0, 3650).describe('Recent days that are read again; by default 3, and 0 for none.').optional(),
    every: every.describe('How often those days are read; by default 24h.').optional(),
  }).optional(),
  aliases: aliasesShape
    .describe(
      'Ids that stand for codes of sources: { BTC: bitcoin }, or of one source: { binance: { BCC: bitcoin-cash } }.',
    )
    .optional(),
  sources: sourcesShape
    .describe('Other addresses, keys and budgets of the profiles, by name; under default, the ranges of SOURCE_URL.')
    .optional(),
  retention: map('a map such as { candles: 2y }', { ...byWord(Object.values(storedWords), () => keptFor.optional()) })
    .describe('How long points are kept; off: for good.')
    .optional(),
  lake: map('a map such as { directory: lake, every: 1h }', {
    directory: text('a path')
      .min(1, 'must be a path, but it is empty')
      .describe('Where it is, from the directory of the scheduler, or s3://bucket/prefix.'),
    every: every.describe('How often what has changed is written.'),
    decimals: z
      .union([whole(0, 38), z.literal('text', { error: 'must be a whole number from 0 to 38, or text' })])
      .describe('Fraction digits of every value, or text; by default as the lake has them, else 20.')
      .optional(),
    doubles: z
      .boolean({ error: wrong('true or false') })
      .describe('Whether a column of doubles stands beside each exact one.')
      .optional(),
    iceberg: z
      .boolean({ error: wrong('true or false') })
      .describe('Whether its files are those of tables of Iceberg, one for each dataset.')
      .optional(),
  })
    .describe('A copy in Parquet files, which the scheduler keeps fresh.')
    .optional(),
  notify: notifyShape.optional(),
  prune: z
    .boolean({ error: wrong('true or false') })
    .describe('Whether what is tracked and not in this file is untracked, as --prune does.')
    .optional(),
});

export type SourceEntry = z.output<typeof source>;
export type WatchListText = z.output<typeof watchListShape>;
export type MarketEntryText = z.output<ReturnType<typeof marketEntry>>;
export type AssetEntryText = z.output<ReturnType<typeof assetEntry>>;

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

export function problemsOf(error: Pick<z.ZodError, 'issues'>, yaml: Extract<Located, { kind: 'value' }>): Problem[] {
  return error.issues.flatMap((issue) => problemsOfIssue(issue, [], yaml));
}

function problemsOfIssue(issue: Issue, above: Path, yaml: Extract<Located, { kind: 'value' }>): Problem[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union') {
    // Report the branch of the union that matched further.
    const [nearest = []] = [...issue.errors].sort((a, b) => furthest(b) - furthest(a));
    return nearest.flatMap((inner) => problemsOfIssue(inner, path, yaml));
  }
  if (issue.code === 'unrecognized_keys') {
    const messages = issue.message.split('\n');
    return issue.keys.map((key, index) => ({
      ...yaml.keyPlace([...path, key]),
      message: messages[index] ?? issue.message,
    }));
  }
  return [{ ...yaml.place(path), message: `${nameOf(path)} ${issue.message}` }];
}

function furthest(issues: readonly Issue[]): number {
  return Math.max(...issues.map((issue) => issue.path.length + (issue.code === 'invalid_type' ? 0 : 0.5)));
}

/** The subject of a message: the key, or the list of an entry. */
function nameOf(path: Path): string {
  const last = path.at(-1);
  if (last === undefined) return 'it';
  if (typeof last === 'string') return last;
  const list = String(path.at(-2));
  return [...datasetWords, ...assetLists.map((name) => lists[name].word as string)].includes(list)
    ? `an entry of ${list}`
    : list;
}
