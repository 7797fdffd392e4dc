/** `tidemark lake DIR`: writes what is new or has changed to a lake of Parquet files. */

import { badArgument, TidemarkError } from '../../errors.ts';
import { counted, formatBytes, formatDuration } from '../../model/format.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { withContext } from '../../runtime/context.ts';
import type { Decimals } from '../../transfer/lake/manifest.ts';
import { type LakeOutcome, writeLake } from '../../transfer/lake/write-lake.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showPointProgress } from '../output/progress.ts';

export interface LakeCommandOptions {
  readonly decimals?: string;
  readonly doubles?: true;
  readonly iceberg?: true;
  readonly check?: true;
  readonly json?: true;
}

/** @throws TidemarkError VALUES_TOO_LONG when months are left out; and as `writeLake`. */
export async function lake(directory: string, options: LakeCommandOptions): Promise<void> {
  const decimals = options.decimals === undefined ? undefined : parseDecimals(options.decimals);
  await withContext({ command: 'lake', needsDatabase: true, handlesSignals: true }, async (context, signal) => {
    const startedMs = context.clock.monotonicMs();
    const outcome = await writeLake(context.database, {
      directory,
      decimals,
      doubles: options.doubles,
      iceberg: options.iceberg,
      check: options.check,
      clock: context.clock,
      signal,
      showProgress: (what, of) => showPointProgress(context.clock, what, of, what === 'check' ? 'files' : 'points'),
    });
    if (outcome === null) {
      throw new TidemarkError('FILE_NOT_WRITTEN', `another process is writing the lake in ${directory}`, {
        remedy: 'wait for its end',
      });
    }
    if (options.json) {
      const refused = outcome.refused.map((one) => ({ ...one, series: seriesJson(one.series) }));
      console.log(JSON.stringify({ directory, ...outcome, refused } satisfies JsonDocument<'lake'>));
    } else console.log(asText(directory, outcome, context.clock.monotonicMs() - startedMs));
    const [first, ...others] = outcome.refused;
    if (first === undefined) return;
    const more = others.length === 0 ? '' : `; and ${counted(others.length, 'month')} more, see the manifest`;
    throw new TidemarkError(
      'VALUES_TOO_LONG',
      `not in the lake: ${seriesName(first.series)} ${first.month}, because ${first.reason}${more}`,
    );
  });
}

/** @throws TidemarkError BAD_ARGUMENT */
function parseDecimals(text: string): Decimals {
  if (text === 'text') return text;
  const digits = Number(text);
  if (/^\d{1,2}$/.test(text) && digits <= 38) return digits;
  throw badArgument(`--decimals must be a whole number from 0 to 38, or text, not ${text}`);
}

function asText(directory: string, outcome: LakeOutcome, durationMs: number): string {
  const { written, rows, bytes, removed, files, allRows } = outcome;
  const wrote = `wrote ${counted(written, 'file')} with ${counted(rows, 'row')}, ${formatBytes(bytes)}`;
  const gone = removed === 0 ? '' : `, removed ${counted(removed, 'file')}`;
  return (
    `${wrote}${gone}; ${directory} has ${counted(files, 'file')} with ${counted(allRows, 'row')}; ` +
    `${formatDuration(durationMs)}`
  );
}
