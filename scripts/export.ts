/**
 * `tidemark export candles|history|rates ...`: takes points out, and beside them what is known of their completeness.
 */

import { type Command, Option } from 'commander';
import type { EpochMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';
import { type FileFormat, fileFormats } from '../files/layout.ts';
import { inSnapshot } from '../store/export/snapshot.ts';
import { type Cargo, rateCargo, seriesCargo } from './export-cargo.ts';
import { exportTo, type Outcome } from './export-files.ts';
import { parseMoment } from './moment.ts';
import {
  type CandleNames,
  candleOptions,
  candlesNamed,
  type HistoryNames,
  historyNamed,
  historyOptions,
  times,
} from './selectors.ts';
import { openSession, type Session } from './session.ts';
import { onStop } from './stop.ts';
import { counted, duration } from './wording.ts';

interface ExportOptions {
  readonly from?: string;
  readonly to?: string;
  readonly format?: FileFormat;
  readonly out: string;
  readonly sidecar?: string;
  readonly json?: true;
}

interface Bounds {
  readonly fromMs: EpochMs | null;
  readonly toMs: EpochMs | null;
}

export function exportCommand(program: Command): void {
  const parent = program
    .command('export')
    .description('take points out, exactly, with a statement of their coverage beside them')
    .helpCommand(false);
  addOptions(candleOptions(parent.command('candles').description('candles of a market')), true).action(
    (options: CandleNames & ExportOptions & { allowGaps?: true }) =>
      exportSeries(candlesNamed(options), options),
  );
  addOptions(historyOptions(parent.command('history').description('price history of an asset')), true).action(
    (options: HistoryNames & ExportOptions & { allowGaps?: true }) =>
      exportSeries(historyNamed(options), options),
  );
  addOptions(parent.command('rates').description('rates as they were polled'), false)
    .option('--currency <list>', 'one or more currencies, such as euro, with commas (default: all)')
    .action(exportRates);
}

function addOptions(command: Command, hasCoverage: boolean): Command {
  command
    .option(
      '--from <time>',
      `start: ${times} (default: the beginning of what is ${hasCoverage ? 'tracked' : 'stored'})`,
    )
    .option('--to <time>', 'end (excluded), as --from (default: the end of it, up to the last closed period)')
    .addOption(
      new Option('--format <format>', 'default: by the ending of FILE, else csv').choices(fileFormats),
    )
    .option('--out <file>', 'file to write, - for standard output', '-')
    .option(
      '--sidecar <file>',
      'where to state coverage and gaps (default: FILE.meta.json; none with --out -)',
    )
    .option('--json', 'print the outcome as JSON; not with --out -');
  if (hasCoverage) command.option('--allow-gaps', 'export what there is of a range that has gaps');
  return command;
}

function exportSeries(
  series: ReturnType<typeof candlesNamed>,
  options: ExportOptions & { allowGaps?: true },
): Promise<void> {
  const bounds = boundsOf(options);
  return run(options, (session, client) =>
    seriesCargo(client, {
      ...bounds,
      series,
      nowMs: Date.now(),
      graceMs: session.config.worker.graceMs,
      allowGaps: options.allowGaps === true,
    }),
  );
}

function exportRates(options: ExportOptions & { currency?: string }): Promise<void> {
  const currencies = options.currency?.split(',').map((currency) => currency.trim()) ?? null;
  const bounds = boundsOf(options);
  return run(options, (_, client) => rateCargo(client, { ...bounds, currencies, nowMs: Date.now() }));
}

async function run(
  options: ExportOptions,
  load: (session: Session, client: Parameters<Parameters<typeof inSnapshot>[1]>[0]) => Promise<Cargo>,
): Promise<void> {
  const format = formatOf(options);
  if (options.out === '-' && options.json) {
    throw new TidemarkError(
      'BAD_ARGUMENT',
      '--json and the points themselves would both go to standard output',
      {
        remedy: 'name a file with --out',
      },
    );
  }
  if (options.out === '-' && format === 'parquet' && process.stdout.isTTY) {
    throw new TidemarkError('BAD_ARGUMENT', 'Parquet is not for a terminal', {
      remedy: 'name a file with --out',
    });
  }
  if (options.sidecar !== undefined && options.sidecar === options.out) {
    throw new TidemarkError('BAD_ARGUMENT', '--sidecar and --out name the same file');
  }
  const startedMs = performance.now();
  const stop = onStop();
  const session = await openSession({ command: 'export', defaultLogLevel: 'error', handlesSignals: true });
  try {
    const outcome = await inSnapshot(session.database, async (client) =>
      exportTo(await load(session, client), { ...options, format, signal: stop.signal }),
    );
    if (options.json) console.log(JSON.stringify(outcome));
    else if (options.out !== '-') console.log(asText(outcome, performance.now() - startedMs));
  } finally {
    await session.close();
    stop.release();
  }
}

/** @throws TidemarkError BAD_ARGUMENT */
function boundsOf({ from, to }: ExportOptions): Bounds {
  const nowMs = Date.now();
  const fromMs = from === undefined ? null : parseMoment(from, '--from', nowMs);
  const toMs = to === undefined ? null : parseMoment(to, '--to', nowMs);
  if (fromMs !== null && toMs !== null && fromMs >= toMs) {
    throw new TidemarkError('BAD_ARGUMENT', `--from ${from} is not before --to ${to}`);
  }
  return { fromMs, toMs };
}

/** @throws TidemarkError BAD_ARGUMENT when the file's name says that it is another: what reads it would go by that. */
function formatOf({ format, out }: ExportOptions): FileFormat {
  const ending = out.slice(out.lastIndexOf('.') + 1).toLowerCase();
  const named = fileFormats.find((known) => known === ending);
  if (format !== undefined && named !== undefined && named !== format) {
    throw new TidemarkError('BAD_ARGUMENT', `--format ${format} does not go with the name ${out}`);
  }
  return format ?? named ?? 'csv';
}

function asText({ points, series, file, sidecar, gaps }: Outcome, durationMs: number): string {
  const holes = gaps === 0 ? '' : `, with ${counted(gaps, 'gap')}`;
  const beside = sidecar === null ? '' : `, what is known of them to ${sidecar}`;
  return `exported ${counted(points, 'point')} of ${series} series to ${file}${beside}${holes}; ${duration(durationMs)}`;
}
