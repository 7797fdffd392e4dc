import type { Command } from 'commander';
import type { LakeCommandOptions } from '../actions/lake.ts';

export function lakeCommand(command: Command): void {
  command
    .argument('<dir>', 'directory of the lake, or s3://bucket/prefix')
    .option(
      '--decimals <digits>',
      'fraction digits of every value, of 38 in all, or text (default: as the lake has them, else 20)',
    )
    .option('--doubles', 'add a column with the nearest double beside each exact one (default: as the lake has them)')
    .option('--iceberg', 'a table of Iceberg for each dataset, in place of plain files (default: as the lake is)')
    .option('--check', 'compare every file with its checksum first, and write those again that differ')
    .option('--json', 'print the outcome as JSON')
    .action(async (directory: string, options: LakeCommandOptions) =>
      (await import('../actions/lake.ts')).lake(directory, options),
    );
}
