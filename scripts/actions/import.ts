/** `tidemark import FILE...`: stores files of `tidemark export`, with their coverage. */

import { TidemarkError } from '../../errors.ts';
import { assertIsFile } from '../../files/sidecar.ts';
import { formatDuration } from '../../format.ts';
import { refreshRollupsAtEnd } from '../../operations/refresh-rollups.ts';
import {
  checkFile,
  type FileImport,
  type ImportOptions,
  importFile,
} from '../../operations/transfer/import-file.ts';
import { ImportTally } from '../../operations/transfer/import-tally.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showPointProgress } from '../output/progress.ts';

export interface Options extends ImportOptions {
  readonly json?: true;
}

export async function run(paths: readonly string[], options: Options): Promise<void> {
  if (paths.length > 1 && options.sidecar !== undefined) {
    throw new TidemarkError('BAD_ARGUMENT', '--sidecar names the sidecar of one file', {
      remedy: 'put the sidecars beside their files as FILE.meta.json',
    });
  }
  // Before a database is created for them.
  for (const path of paths) await assertIsFile(path);
  const startedMs = performance.now();
  await withContext(
    { command: 'import', defaultLogLevel: 'error', handlesSignals: true },
    async (context, signal) => {
      const tally = new ImportTally();
      const files = paths.map((path) => fileImport(path, options, { context, tally, signal }));
      // Check all files before anything is stored.
      const checked = [];
      for (const file of files) checked.push({ file, content: await checkFile(file) });
      for (const { file, content } of checked) await importFile(file, content);
      const rollups = await refreshRollupsAtEnd(context, undefined, signal);
      const document: JsonDocument<'import'> = tally.asJson(paths.length);
      if (options.json) console.log(JSON.stringify(document));
      else console.log(tally.asText(paths.length, formatDuration(performance.now() - startedMs)));
      tally.assertComplete();
      if (rollups === 'stopped')
        throw new TidemarkError(
          'INTERRUPTED',
          'stopped while the rollups were refreshed; all points are stored',
          {
            remedy: 'the scheduler refreshes them, or the next import',
          },
        );
    },
  );
}

function fileImport(
  path: string,
  options: Options,
  { context, tally, signal }: { context: Context; tally: ImportTally; signal: AbortSignal },
): FileImport {
  return {
    ...options,
    path,
    showProgress: showPointProgress,
    database: context.database,
    graceMs: context.config.worker.graceMs,
    tally,
    beforePiece: () => {
      context.assertFreeSpace();
      if (!signal.aborted) return;
      throw new TidemarkError('INTERRUPTED', `stopped within ${path}; the imported points are stored`, {
        remedy: 'run the same command again: it skips them',
      });
    },
  };
}
