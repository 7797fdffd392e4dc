/** `tidemark import FILE...`: stores files of `tidemark export`, and candle files of others, with their coverage. */

import { systemClock } from '../../clock.ts';
import { badArgument, TidemarkError } from '../../errors.ts';
import { type CandleFormatName, candleFormatNames } from '../../files/candle-formats.ts';
import { fileFormats } from '../../files/layout.ts';
import { type ColumnNames, formatOfColumns, furtherColumn, neededColumns } from '../../files/named-columns.ts';
import { assertIsFile } from '../../files/sidecar.ts';
import { formatDuration } from '../../model/format.ts';
import { seriesProblem } from '../../model/series.ts';
import { refreshRollupsAtEnd } from '../../operations/refresh-rollups.ts';
import { asStored, assertSettledAsListed } from '../../operations/sources/names.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import { assertOneMarket, type CandleFileKind, checkCandleFile } from '../../transfer/check-candles.ts';
import { readChecked } from '../../transfer/dry-run.ts';
import {
  type CheckedFile,
  checkFile,
  type FileCheck,
  type FileImport,
  type ImportOptions,
  importFile,
} from '../../transfer/import-file.ts';
import { ImportTally } from '../../transfer/import-tally.ts';
import { type SeriesNames, seriesNamed } from '../input/selectors.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showPointProgress } from '../output/progress.ts';

export interface Options extends Omit<ImportOptions, 'format'>, SeriesNames {
  readonly format?: ImportOptions['format'] | CandleFormatName;
  readonly columns?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

export async function run(paths: readonly string[], options: Options): Promise<void> {
  if (paths.length > 1 && options.sidecar !== undefined) {
    throw badArgument(
      '--sidecar names the sidecar of one file',
      'put the sidecars beside their files as FILE.meta.json',
    );
  }
  const asked = candleFileKind(options);
  // Before a database is created for them.
  for (const path of paths) await assertIsFile(path);
  if (options.dryRun) return dryRun(paths, options, asked);
  await withContext({ command: 'import', handlesSignals: true }, async (context, signal) => {
    const startedMs = context.clock.monotonicMs();
    const kind = asked === null ? null : await storedKind(context, asked);
    const tally = new ImportTally();
    const files = paths.map((path) => fileImport(path, options, { context, tally, signal }));
    // Check all files before anything is stored.
    const before = context.phase('checking the files');
    const checked = await checkAll(files, kind);
    context.phase(before);
    const stated = checked.flatMap(({ content }) => content.stated?.series ?? []);
    await assertSettledAsListed(
      context,
      stated.map(({ series }) => series),
    );
    for (const { file, content } of checked) await importFile(file, content);
    const rollups = await refreshRollupsAtEnd(context, undefined, signal);
    const document: JsonDocument<'import'> = tally.asJson(paths.length);
    if (options.json) console.log(JSON.stringify(document));
    else console.log(tally.asText(paths.length, formatDuration(context.clock.monotonicMs() - startedMs)));
    tally.assertComplete();
    if (rollups === 'stopped')
      throw new TidemarkError('INTERRUPTED', 'stopped while the rollups were refreshed; all points are stored', {
        remedy: 'the scheduler refreshes them, or the next import',
      });
  });
}

async function checkAll<File extends FileCheck>(
  files: readonly File[],
  kind: CandleFileKind | null,
): Promise<{ file: File; content: CheckedFile }[]> {
  const checked = [];
  for (const file of files) {
    const content = kind === null ? await checkFile(file) : await checkCandleFile(file, kind);
    checked.push({ file, content });
  }
  assertOneMarket(checked.map(({ file: { path }, content: { market } }) => ({ path, market })));
  return checked;
}

/** Opens no database. */
async function dryRun(paths: readonly string[], options: Options, kind: CandleFileKind | null): Promise<void> {
  const tally = new ImportTally();
  const files = paths.map((path) => ({
    ...ofExport(options),
    ...{ path, tally, clock: systemClock, beforePiece: () => {} },
  }));
  for (const { file, content } of await checkAll(files, kind)) await readChecked(file, content);
  const document: JsonDocument<'import'> = tally.asJson(paths.length);
  console.log(options.json ? JSON.stringify(document) : tally.asDryText(paths.length));
  tally.assertComplete({ isDry: true });
}

/** The columns that `time=timestamp,open=1st,...` names. @throws TidemarkError BAD_ARGUMENT */
function columnsNamed(text: string): ColumnNames {
  const pairs = text.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
  const names = Object.fromEntries(pairs.map(([column = '', ...name]) => [column, name.join('=')]));
  const known: readonly string[] = [...neededColumns, furtherColumn];
  const wrong = Object.keys(names).find((column) => !known.includes(column));
  const missing = neededColumns.filter((column) => (names[column] ?? '') === '');
  const remedy = `name ${neededColumns.map((column) => `${column}=...`).join(',')}`;
  if (wrong !== undefined || pairs.length > Object.keys(names).length)
    throw badArgument(`--columns has no ${wrong ?? 'column twice'}`, remedy);
  if (missing.length > 0) throw badArgument(`--columns lacks ${missing.join(', ')}`, remedy);
  return names as ColumnNames;
}

/**
 * The series that the options name, for a format of others; null for files of `export`.
 *
 * @throws TidemarkError BAD_ARGUMENT
 */
function candleFileKind(options: Options): CandleFileKind | null {
  const { columns } = options;
  if (columns !== undefined && options.format !== undefined && options.format !== 'csv')
    throw badArgument(`--columns is for files of CSV, not for --format ${options.format}`);
  const known = candleFormatNames.find((name) => name === options.format);
  const format = columns === undefined ? known : formatOfColumns(columnsNamed(columns));
  const option = columns === undefined ? `--format ${known}` : '--columns';
  const given = (['exchange', 'base', 'quote', 'interval'] as const).map((name) => ({ name, text: options[name] }));
  if (format === undefined) {
    const [first] = given.filter(({ text }) => text !== undefined);
    if (first === undefined) return null;
    throw badArgument(`--${first.name} needs --format ${candleFormatNames.join(', ')}, or --columns`);
  }
  const missing = given.filter(({ text }) => text === undefined).map(({ name }) => `--${name}`);
  if (missing.length > 0)
    throw badArgument(`${option} needs ${missing.join(', ')}`, 'such files do not name their series');
  for (const name of ['sidecar', 'follow'] as const)
    if (options[name] !== undefined) throw badArgument(`--${name} is for files of \`export\`, not for ${option}`);
  const { exchange = '', base = '', quote = '', interval = '' } = options;
  const [series, ...others] = seriesNamed('candles', { exchange, base, quote, interval });
  if (series?.dataset !== 'candles' || others.length > 0)
    throw badArgument(
      `--interval ${interval} names several intervals`,
      'import the files of each interval in a call of their own',
    );
  const problem = seriesProblem(series);
  if (problem !== null) throw badArgument(problem);
  return { format, series };
}

/** The series as it is stored, if it is stored under another name of its market. */
async function storedKind(context: Context, kind: CandleFileKind): Promise<CandleFileKind> {
  const [stored] = await asStored(context, [kind.series]);
  return stored?.dataset === 'candles' ? { ...kind, series: stored } : kind;
}

/** The options, without a format that no export has. */
function ofExport({ format, ...options }: Options): ImportOptions {
  const known = fileFormats.find((name) => name === format);
  return { ...options, ...(known === undefined ? {} : { format: known }) };
}

function fileImport(
  path: string,
  options: Options,
  { context, tally, signal }: { context: Context; tally: ImportTally; signal: AbortSignal },
): FileImport {
  return {
    ...ofExport(options),
    path,
    clock: context.clock,
    showProgress: (what, of) => showPointProgress(context.clock, what, of),
    database: context.database,
    graceMs: context.config.worker.graceMs,
    tally,
    beforePiece: () => {
      context.assertFreeSpace();
      if (!signal.aborted) return;
      throw new TidemarkError('INTERRUPTED', `stopped within ${path}`);
    },
  };
}
