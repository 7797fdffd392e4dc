/** `tidemark export candles|history|rates ...`: writes points to a file, and their coverage to a sidecar. */

import { systemClock } from '../../clock.ts';
import { badArgument } from '../../errors.ts';
import { type FileFormat, fileFormats } from '../../files/layout.ts';
import { counted, formatDuration, formatTime, isoTime } from '../../model/format.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import { storedKeys } from '../../store/series/aliases.ts';
import { keysNamed } from '../../store/status/series-history.ts';
import { exportTo, type Outcome } from '../../transfer/export-files.ts';
import { type ExportSource, rateExportSource, seriesExportSource } from '../../transfer/export-source.ts';
import { inSnapshot } from '../../transfer/queries/export-series.ts';
import { parseTime } from '../input/parse-options.ts';
import type { StoredSelection } from '../input/selectors.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showPointProgress } from '../output/progress.ts';

export interface ExportOptions {
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

/**
 * @throws TidemarkError BAD_ARGUMENT for options that contradict each other; RANGE_HAS_GAPS unless gaps are allowed.
 */
export function exportSeries(selection: StoredSelection, options: ExportOptions & { allowGaps?: true }): Promise<void> {
  const bounds = boundsOf(options);
  return run(options, async (context, client) =>
    seriesExportSource(client, {
      ...bounds,
      series:
        'names' in selection
          ? await keysNamed(context.database, selection.names)
          : await storedKeys(client, selection.series),
      nowMs: context.clock.now(),
      graceMs: context.config.worker.graceMs,
      allowGaps: options.allowGaps === true,
      needsDigits: needsDigits(options),
    }),
  );
}

export function exportRates(options: ExportOptions & { currency?: string }): Promise<void> {
  const currencies = options.currency?.split(',').map((currency) => currency.trim()) ?? null;
  const bounds = boundsOf(options);
  return run(options, (context, client) =>
    rateExportSource(client, {
      ...{ ...bounds, currencies, nowMs: context.clock.now() },
      needsDigits: needsDigits(options),
    }),
  );
}

async function run(
  options: ExportOptions,
  load: (context: Context, client: Parameters<Parameters<typeof inSnapshot>[1]>[0]) => Promise<ExportSource>,
): Promise<void> {
  const format = formatOf(options);
  if (options.out === '-' && options.json) {
    throw badArgument('--json and the points themselves would both go to standard output', 'name a file with --out');
  }
  if (options.out === '-' && format === 'parquet' && process.stdout.isTTY) {
    throw badArgument('Parquet is not for a terminal', 'name a file with --out');
  }
  if (options.sidecar !== undefined && options.sidecar === options.out) {
    throw badArgument('--sidecar and --out name the same file');
  }
  await withContext({ command: 'export', needsDatabase: true, handlesSignals: true }, async (context, signal) => {
    const startedMs = context.clock.monotonicMs();
    const outcome = await inSnapshot(context.database, async (client) =>
      exportTo(await load(context, client), {
        ...options,
        format,
        signal,
        showProgress: (what, of) => showPointProgress(context.clock, what, of),
      }),
    );
    if (options.json) console.log(JSON.stringify(asJson(outcome)));
    else if (options.out !== '-') console.log(asText(outcome, context.clock.monotonicMs() - startedMs));
  });
}

/** @throws TidemarkError BAD_ARGUMENT */
function boundsOf({ from, to }: ExportOptions): Bounds {
  const nowMs = systemClock.now();
  const fromMs = from === undefined ? null : parseTime(from, '--from', nowMs);
  const toMs = to === undefined ? null : parseTime(to, '--to', nowMs);
  if (fromMs !== null && toMs !== null && fromMs >= toMs) {
    throw badArgument(`--from ${from} is not before --to ${to}`);
  }
  return { fromMs, toMs };
}

/** @throws TidemarkError BAD_ARGUMENT when the name of the file ends in another format. */
function formatOf({ format, out }: ExportOptions): FileFormat {
  const ending = out.slice(out.lastIndexOf('.') + 1).toLowerCase();
  const named = fileFormats.find((known) => known === ending);
  if (format !== undefined && named !== undefined && named !== format) {
    throw badArgument(`--format ${format} does not match the file name ${out}`);
  }
  // It would be plain text under the name of another.
  if (/\.(?:gz|bz2|xz|zst|zip|br)$/i.test(out))
    throw badArgument(
      `export does not compress, and ${out} is the name of a compressed file`,
      `pipe it: export ... --out - | gzip > ${out}`,
    );
  return format ?? named ?? 'csv';
}

/** The types of its columns follow from the values. */
const needsDigits = (options: ExportOptions): boolean => formatOf(options) === 'parquet';

function asJson({ until, lastUntil: _, ...outcome }: Outcome): JsonDocument<'export'> {
  return { ...outcome, until: isoTime(until) };
}

function asText({ points, series, until, lastUntil, file, sidecar, gaps }: Outcome, durationMs: number): string {
  const holes = gaps === 0 ? '' : `, with ${counted(gaps, 'gap')}`;
  const beside = sidecar === null ? '' : `, coverage to ${sidecar}`;
  const end =
    until === null || lastUntil === null
      ? ''
      : until === lastUntil
        ? ` up to ${formatTime(until)}`
        : `, which end between ${formatTime(until)} and ${formatTime(lastUntil)},`;
  return (
    `exported ${counted(points, 'point')} of ${series} series${end} to ${file}${beside}${holes}; ` +
    `${formatDuration(durationMs)}`
  );
}
