/** `tidemark import FILE...`: stores what `tidemark export` took out, with its coverage. */

import { type Command, Option } from 'commander';
import { TidemarkError } from '../errors.ts';
import { type FileFormat, fileFormats } from '../files/layout.ts';
import { checkFile, type FileImport, importFile } from './import-file.ts';
import { ImportTally } from './import-tally.ts';
import { bringRollupsUpToDate } from './rollups-up-to-date.ts';
import { openSession, type Session } from './session.ts';
import { onStop } from './stop.ts';
import { duration } from './wording.ts';

interface Options {
  readonly format?: FileFormat;
  readonly sidecar?: string;
  readonly pointsOnly?: true;
  readonly overwrite?: true;
  readonly follow?: true;
  readonly json?: true;
}

export function importCommand(program: Command): void {
  program
    .command('import')
    .description('store what `export` took out: points, and the coverage that the file shows')
    .argument('<file...>', 'files of `export`, each with its sidecar FILE.meta.json beside it')
    .addOption(new Option('--format <format>', 'default: as the sidecar says').choices(fileFormats))
    .addOption(new Option('--sidecar <file>', 'sidecar of a single file').conflicts('pointsOnly'))
    .option('--points-only', 'points without coverage: for a file that was changed, or has no sidecar')
    .option('--overwrite', 'take values of the files where others are stored, and keep those as revisions')
    .option('--follow', 'track into the future what was, where it was exported')
    .option('--json', 'print the outcome as JSON')
    .action(run);
}

async function run(paths: readonly string[], options: Options): Promise<void> {
  if (paths.length > 1 && options.sidecar !== undefined) {
    throw new TidemarkError('BAD_ARGUMENT', '--sidecar names the sidecar of one file', {
      remedy: 'lay the sidecars beside their files as FILE.meta.json',
    });
  }
  const startedMs = performance.now();
  const stop = onStop();
  const session = await openSession({ command: 'import', defaultLogLevel: 'error', handlesSignals: true });
  const tally = new ImportTally();
  try {
    const files = paths.map((path) => fileImport(path, options, { session, tally, signal: stop.signal }));
    // All of them first: what is wrong with one is said before anything is stored.
    const checked = [];
    for (const file of files) checked.push({ file, content: await checkFile(file) });
    for (const { file, content } of checked) await importFile(file, content);
    await bringRollupsUpToDate(session.database, stop.signal);
    if (options.json) console.log(JSON.stringify(tally.asJson(paths.length)));
    else console.log(tally.asText(paths.length, duration(performance.now() - startedMs)));
    tally.judge();
  } finally {
    await session.close();
    stop.release();
  }
}

function fileImport(
  path: string,
  options: Options,
  { session, tally, signal }: { session: Session; tally: ImportTally; signal: AbortSignal },
): FileImport {
  return {
    path,
    format: options.format,
    sidecar: options.sidecar,
    pointsOnly: options.pointsOnly === true,
    overwrite: options.overwrite === true,
    follow: options.follow === true,
    quiet: options.json === true,
    database: session.database,
    graceMs: session.config.worker.graceMs,
    signal,
    tally,
    beforePiece: () => {
      session.assertRoom();
      if (!signal.aborted) return;
      throw new TidemarkError('INTERRUPTED', `stopped within ${path}; what was imported is stored`, {
        remedy: 'run the same command again: it finds that, and goes on',
      });
    },
  };
}
