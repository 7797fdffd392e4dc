/**
 * Comments on the columns of views and tables, and on the tables that have none of a migration. A column of the same
 * name means the same everywhere, unless it is named with its relation. Views and functions have theirs beside their
 * definition.
 */

import pg from 'pg';
import { datasetNames, datasets, datasetText } from '../model/datasets/index.ts';
import type { List } from '../model/list.ts';
import { eachList } from '../model/lists/index.ts';
import { bool, listOf, nullable, statement, text } from '../store/db/statement.ts';

/** Between a comment and its example, as `tidemark.help` splits them. */
const exampleMark = '\nExample: ';

/** An example at the end of a comment, for a text within quotes. @param sql one statement, which returns rows. */
export function example(sql: string): string {
  return `${exampleMark}${sql.replaceAll("'", "''")}`;
}

const relations: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    datasetNames.map((name) => [
      `tidemark.${datasets[name].table}`,
      `Points of ${datasetText(name)}, by series and time, as the source gave them.`,
    ]),
  ),
  'tidemark.migrations': 'Migrations that this database has.',
  'tidemark.actions':
    'Actions at the dashboard, such as track or repair, and deletions of series: who, when, what, and the result.',
  ...Object.fromEntries(
    eachList.flatMap(({ entry, entries, keeps, tables: { listed, states } }) => [
      [`tidemark.${listed}`, `Each ${entry} that a poll has listed.`],
      [
        `tidemark.${states}`,
        keeps === 'changes' ? `Each change of each ${entry} of the list.` : `Polled ${entries}, by ${entry} and time.`,
      ],
    ]),
  ),
};

const columns: Readonly<Record<string, string>> = {
  ...Object.fromEntries(datasetNames.flatMap((one) => datasets[one].columns.map(({ name, about }) => [name, about]))),
  action: 'What was asked for: retry, verify, repair, track, untrack, pause or resume; of a command only delete.',
  address: 'E-mail address of the holder.',
  after: 'Values since the change, as JSON with decimals that keep their digits.',
  answered_at: 'When the source was asked for it last.',
  archive: 'Whether it gives whole months only.',
  arguments: 'Arguments of a function, with their types and defaults.',
  asset: 'Asset, by its id.',
  asset_id: 'Asset of the series; null where it is of a market.',
  attempt: 'Number of the attempt at the window, from 1.',
  attempts: 'Attempts so far.',
  base: 'Base asset of the market, by its id.',
  base_id: 'Base asset of the market, by its id.',
  base_symbol: 'Symbol of the base asset.',
  before: 'Values before the change, as JSON with decimals that keep their digits.',
  before_beginning: 'Part of confirmed_empty before the series begins, which was requested by days only.',
  begun_at: 'When the poll began.',
  blocked_kind: 'Why the source refuses the series.',
  blocked_message: 'What the source said when it refused the series.',
  bytes: 'Size of the answer.',
  caller: 'Key or address that is counted.',
  changed: 'Rows that differ from the stored ones.',
  code: 'Name of an asset at the source.',
  completed_at: 'When the last page was stored; null: the poll is not complete.',
  confirmed_empty: 'Ranges of which two answers agreed that they hold no point.',
  covered: 'Ranges that were requested, answered and committed.',
  created_at: 'When it was tracked for the first time.',
  currency: 'Currency, by its id.',
  currency_id: 'The currency, as in tidemark.currencies.',
  dataset: `${datasetNames.join(' or ')}; in the ledger and in quarantine also the polled lists.`,
  derived_from: 'Interval of the series from which the row is derived; null: it is stored.',
  description: 'What it is.',
  duration_ms: 'From the request to the end of the answer, milliseconds.',
  earliest: 'Time of the first stored point.',
  error: 'What failed; null: nothing.',
  every: 'How often it is polled.',
  example: 'A statement that uses it, for the names of the documentation.',
  exchange: 'Exchange, by its id.',
  exchange_id: 'Exchange of the market; null where the series is of an asset.',
  exchange_name: 'Exchange, by the name that the source uses in this list.',
  finer: 'Shorter intervals from which it follows.',
  first_at: 'When it was deferred first.',
  first_row: 'Offset of the first row of the page.',
  fresh: 'Points that were new.',
  from_time: 'Start, inclusive.',
  gaps: 'Number of missing ranges.',
  given_up_at: 'When the poll was abandoned; null: it was not.',
  gone: 'Whether the source no longer lists it from time on.',
  ended_at: 'When it ended; null: it runs, or its process ended before it did.',
  gone_since: 'When the source ceased to list it; null: it is listed.',
  granted_seconds: 'Length that is added to the usual one.',
  has_open: 'Whether its newest period, which is open, is requested.',
  here: 'Stored values, as JSON; null: none are stored.',
  id: 'Number by which other tables name it.',
  interval: 'Length of the periods, by name: m1 to w1.',
  issued_at: 'When the key was issued; null: it was not.',
  kind: 'What differs: changed, missing_here or missing_there.',
  lane: 'Why it was requested: refresh, backfill, probe, reread, repair, verify or poll.',
  largest_page: 'Rows of its largest page.',
  length: 'to_time minus from_time.',
  list: `${eachList.map(({ name }) => name).join(', ')}.`,
  list_id: 'The list, as in tidemark.lists.',
  listed: 'Entries that the page lists.',
  listed_at: 'Start of trading, as the source states it: there may be older points. Null: it does not say.',
  listed_id: 'The entry, as in the table of listed ones.',
  message: 'What the source said, or what failed; null: nothing.',
  missed_since: 'Since when polls have not listed it; null: the newest one did.',
  missing: 'Gaps: wanted up to the last closed period, and not covered.',
  missing_here: 'Points that only the source has.',
  missing_there: 'Points that only this store has.',
  most_rows_at: 'When the answer with most_rows came.',
  name: 'Name.',
  newest: 'Time of the newest stored point, or row.',
  pages: 'Pages that were received.',
  period: 'Length of the periods.',
  points: 'Number of stored points; of a derived candle, of the points that it is derived from.',
  poll_id: 'The poll, as in tidemark.list_polls.',
  purpose: 'What the key is for.',
  proof: 'How it is known that there is no point.',
  quote: 'Quote asset of the market, by its id.',
  quote_id: 'Quote asset of the market, by its id.',
  quote_symbol: 'Symbol of the quote asset.',
  range: 'Range of time, start inclusive, end exclusive.',
  rank: 'Position, from 1.',
  raw: 'The row as the source sent it, truncated if it is long.',
  reason: 'Why.',
  refreshed_at: 'When its tip was refreshed last.',
  rejected: 'Rows that failed validation.',
  relation: 'View that has its candles.',
  request: 'What it was asked with, as JSON.',
  requested_at: 'When the key was requested.',
  result: 'What came of it, in a sentence; null: it runs.',
  retry_at: 'When it is requested again; null: as soon as the budget allows.',
  returns: 'Columns of a view or table; result of a function.',
  revised: 'Changed points of closed periods, whose old values are kept.',
  revoked_at: 'When the key was revoked; null: it is valid.',
  rewritten: 'Points with equal numbers and other digits, such as 1.10 and 1.1: no difference.',
  rows: 'Number of rows.',
  run: 'The command that asked.',
  run_on: 'When it was applied.',
  schema: 'public or tidemark.',
  seconds: 'Least length of such a silence.',
  seen_at: 'When it was seen.',
  series_id: 'The series, as in tidemark.series and the view coverage.',
  share: 'Covered share of the tracked range up to the last closed period, 0 to 1, rounded down.',
  source: 'Name of the source, default: that of SOURCE_URL; file: imported; null: none, or not recorded.',
  state: 'running, done or failed.',
  status: 'HTTP status of the answer; null: there was none.',
  stored: 'Table of the stored rollup that it is derived from; null: the points.',
  symbol: 'Symbol: of the asset or currency; of a market, its name at the source.',
  there: 'Values of the source, as JSON; null: it has none.',
  time: 'Start of the period of a candle; time of a price or a rate; when a state was first seen so.',
  times: 'Times of its requests, UNIX milliseconds.',
  times_usual: 'How many times as long as usual it is at least.',
  to_time: 'End, exclusive.',
  tracked_from: 'Start of the tracked range.',
  tracked_to: 'End of the tracked range; null: up to the present.',
  trading: 'Whether the market trades now.',
  type: 'Kind of currency: crypto or fiat.',
  unchanged: 'Points that were stored already.',
  untracked_at: 'When tracking ended; null: it is tracked.',
  updated: 'Time of the last update at the source.',
  user_name: 'User name beside the password; null: none.',
  value: 'The fact.',
  verdict: 'What the answer proves, or the kind of the failure.',
  volume_usd_24hr: 'Volume of the last 24 hours, USD.',
};

/** Columns that mean something else in a relation. */
const own: Readonly<Record<string, string>> = {
  'public.coverage.contract_asset': 'Asset that contract_size is an amount of, by its code.',
  'public.coverage.contract_size': 'Amount of contract_asset in a contract; null: amounts are in the base asset.',
  'public.coverage.expiry': 'Day of expiry of a future, YYMMDD; null: it never expires.',
  'public.coverage.kind': 'spot, perpetual or future; null: not of a market.',
  'public.coverage.settle': 'Asset in which profits are paid; null: a spot market.',
  'public.coverage.rejected':
    'Covered periods for which only invalid rows came, which are in quarantine. Functions count them as not covered.',
  'public.gaps.cause': 'The precise reason: one of tidemark.gap_reasons.',
  'public.gaps.reason': 'not_asked, awaits_second_answer, failed, stale or blocked.',
  'public.polls.asset': 'Asset whose markets were polled; null for the other lists.',
  'public.polls.changed': 'Rows that were kept: new ones, changed ones, and ones that came back.',
  'public.polls.gone': 'Entries that this poll found to be gone.',
  'public.polls.reason': 'Why the poll was abandoned; null: it was not.',
  'public.polls.time': "The source's time of the first page, which every row kept of the poll has.",
  'public.source_markets.base': 'Base asset, by the code of the source.',
  'public.source_markets.base_id': 'Base asset, by the id that stands for its code.',
  'public.source_markets.contract_asset': 'Code of the asset that contract_size is an amount of.',
  'public.source_markets.contract_size': 'Amount of contract_asset in a contract; null: amounts are in the base asset.',
  'public.source_markets.expiry': 'Day of expiry of a future, YYMMDD; null: it never expires.',
  'public.source_markets.gone_since': 'When its list first lacked it, as the next one did; null: it is listed.',
  'public.source_markets.kind': 'spot, perpetual or future.',
  'public.source_markets.settle': 'Asset in which profits are paid, by the code of the source; null: a spot market.',
  'public.source_markets.quote': 'Quote asset, by the code of the source.',
  'public.source_markets.quote_id': 'Quote asset, by the id that stands for its code.',
  'public.source_market_snapshots.base': 'Base asset, by the code of the source.',
  'public.source_market_snapshots.contract_asset': 'Code of the asset that contract_size is an amount of.',
  'public.source_market_snapshots.contract_size':
    'Amount of contract_asset in a contract; null: amounts are in the base asset.',
  'public.source_market_snapshots.quote': 'Quote asset, by the code of the source, with what it is settled in.',
  'public.source_market_snapshots.time': 'When the list was first seen so.',
  'public.quality.empty':
    'Share of the covered periods, from the first point to the last one, that have no point; null: not of prices.',
  'public.quality.gaps': 'Number of missing ranges.',
  'public.quality.inconsistent':
    'Points whose prices contradict each other (such as a high below the close) or are not above zero.',
  'public.quality.largest_spike': 'How far the largest spike is from the nearer of its neighbours; 0.1 is 10 %.',
  'public.quality.largest_spike_time': 'Time of the largest spike.',
  'public.quality.longest_silence': 'Length of the longest silence.',
  'public.quality.longest_unchanged': 'Most points in a row with the same price.',
  'public.quality.longest_unchanged_from': 'Time of the first of them.',
  'public.quality.quarantined': 'Rows that were rejected.',
  'public.quality.revisions': 'Changed points of closed periods, whose old values are kept.',
  'public.quality.silences': 'Stretches without a point, far longer than usual, as in the view silences.',
  'public.quality.spikes':
    'Prices beyond both of their neighbours, from the nearer one by more than twenty times the usual move.',
  'public.quality.unchanged': 'Share of the points whose price is that of the point before.',
  'public.quality.zero_volume': 'Share of the candles with volume 0; null: without volumes.',
  'public.revisions.seen_at': 'When the change was seen.',
  'public.revisions.time': 'Time of the point.',
  'public.source_differences.time': 'Time of the point.',
  'public.dashboard_actions.address': 'Network address that asked for it.',
  'public.dashboard_actions.time': 'When it was asked for.',
  'tidemark.actions.address': 'Network address that asked for it; of a deletion user@host.',
  'tidemark.actions.time': 'When it was asked for.',
  'tidemark.backfills.asked_at': 'When it was asked for.',
  'tidemark.backfill_series.backfill_id': 'The backfill.',
  'tidemark.api_keys.name': 'Name of the holder.',
  'tidemark.asked_windows.kind': 'Kind of the failure; null: the window was settled.',
  'tidemark.asked_windows.fresh': 'Points that the repair inserted.',
  'tidemark.asked_windows.revised': 'Points that the repair changed.',
  'tidemark.asked_windows.changed': 'Points whose values differ.',
  'tidemark.asked_windows.points': 'Points that were compared.',
  'tidemark.asked_windows.answered_at': 'When the answer came.',
  'tidemark.asset_aliases.source': 'The source; empty: every one.',
  'tidemark.differences.time': 'Time of the point.',
  'tidemark.cross_differences.time': 'Time of the point.',
  'tidemark.empty_answers.answered_at': 'When it was last answered to be empty.',
  'tidemark.derived_histories.interval': 'Interval without a series of its own.',
  'tidemark.derived_histories.series_id': 'The series that it is derived from.',
  'tidemark.derived_histories.derived_from': 'Interval of that series.',
  'tidemark.derived_series.interval': 'Interval without a series of its own.',
  'tidemark.derived_series.series_id': 'The series that it is derived from.',
  'tidemark.derived_series.derived_from': 'Interval of that series.',
  'tidemark.fetches.body':
    'In one line rejected rows of the answer, or the beginning of one that did not fill its range; null: neither.',
  'tidemark.fetches.range': 'The requested window; null: a poll.',
  'tidemark.fetches.series_id': 'The series; null: a poll.',
  'tidemark.fetches.time': 'When the request was answered or failed.',
  'tidemark.gap_reasons.asked_alone': 'Whether the next request is for this range alone.',
  'tidemark.gap_reasons.counts': 'Figure that counts it: missing, awaiting, failed, lost (never requested) or stale.',
  'tidemark.gap_reasons.left_to_next': 'Whether the next source of the series is asked at once.',
  'tidemark.gap_reasons.may_be_elsewhere': 'Whether a source after this one may have the range.',
  'tidemark.gap_reasons.reason': 'Name of the cause.',
  'tidemark.gap_reasons.shown': 'The reason in the view gaps.',
  'tidemark.help.kind': 'view, table, function or aggregate.',
  'tidemark.dataset_intervals.length': 'Length of a period.',
  'tidemark.history_levels.length': 'Length of a period.',
  'tidemark.interval_lengths.length': 'Length of a period.',
  'tidemark.list_polls.reason': 'Why the poll was abandoned; null: it was not.',
  'tidemark.list_polls.gone': 'Entries that this poll found to be gone.',
  'tidemark.lists.asset': 'Asset whose markets are polled; null for the other lists.',
  'tidemark.lists.created_at': 'When it was listed here for the first time.',
  'tidemark.point_revisions.time': 'Time of the point.',
  'tidemark.point_revisions.seen_at': 'When the change was seen.',
  'tidemark.quarantine.range': 'The window that was requested; null: a polled list or a file.',
  'tidemark.quarantine.reason': 'Why the row was rejected.',
  'tidemark.quarantine.series_id': 'The series; null: a polled list, or a row without names.',
  'tidemark.request_times.newest': 'Time of its newest request, UNIX milliseconds.',
  'tidemark.series_sources.rank': 'Order of preference, from 1.',
  'tidemark.source_symbols.base': 'Base asset, by the code of the source.',
  'tidemark.source_symbols.quote': 'Quote asset, by the code of the source.',
  ...Object.fromEntries(eachList.flatMap(ofList)),
};

/** Comments of a list's own columns, in its tables and views. */
function ofList({ key, details, detailsOfNow, values, tables, views }: List): Array<[string, string]> {
  const relations = [
    ...[tables.listed, tables.states].map((name) => `tidemark.${name}`),
    ...[views.now, views.every].map((name) => `public.${name}`),
  ];
  return [...key, ...details, ...detailsOfNow, ...values].flatMap(({ name, about }) =>
    about === undefined ? [] : relations.map((relation): [string, string] => [`${relation}.${name}`, about]),
  );
}

/**
 * Writes the comments of columns, and of tables without any. A comment of a migration stays. Relations of others in the
 * schema `public` are left alone.
 *
 * @param views names of the derived views, with the schema.
 */
export async function commentColumns(client: pg.ClientBase, views: readonly string[]): Promise<void> {
  const statements = Object.entries(relations).map(
    ([name, text]) => `comment on table ${name} is ${pg.escapeLiteral(text)}`,
  );
  for (const { relation, column, isView, comment } of await columnComments.on(client, { views })) {
    const text = own[`${relation}.${column}`] ?? (isView || comment === null ? columns[column] : undefined);
    if (text === undefined || text === comment) continue;
    statements.push(`comment on column ${relation}.${pg.escapeIdentifier(column)} is ${pg.escapeLiteral(text)}`);
  }
  await client.query(statements.join(';\n'));
}

const columnComments = statement({
  name: 'comments-of-columns',
  isPlannedAnew: true,
  text: `
    select n.nspname || '.' || c.relname as relation, a.attname::text as column, c.relkind = 'v' as "isView",
           col_description(c.oid, a.attnum) as comment
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where a.attnum > 0 and not a.attisdropped
      and (n.nspname = 'tidemark' and c.relkind in ('r', 'p') or n.nspname || '.' || c.relname = any ($views))`,
  parameters: { views: listOf(text) },
  row: { relation: text, column: text, isView: bool, comment: nullable(text) },
});

/** Changes with the comments. */
export const commentTexts = JSON.stringify([relations, columns, own]);
