/** Arguments and options of `tidemark import`. */

import { type Command, Option } from 'commander';
import { fileFormats } from '../../files/layout.ts';
import type { Options } from '../actions/import.ts';

export function importCommand(program: Command): void {
  program
    .command('import')
    .argument('<file...>', 'files of `export`, each with its sidecar FILE.meta.json')
    .addOption(new Option('--format <format>', 'default: the format in the sidecar').choices(fileFormats))
    .addOption(new Option('--sidecar <file>', 'sidecar of a single file').conflicts('pointsOnly'))
    .option('--points-only', 'store points without coverage: for a file that was changed, or has no sidecar')
    .option(
      '--overwrite',
      'replace stored values by those of the files, and keep the old values as revisions',
    )
    .option('--follow', 'track open-ended what was tracked open-ended at the export')
    .option('--json', 'print the outcome as JSON')
    .action(async (paths: string[], options: Options) =>
      (await import('../actions/import.ts')).run(paths, options),
    );
}
