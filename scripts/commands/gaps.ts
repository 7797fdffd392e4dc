/** Arguments and options of `tidemark gaps`. */

import type { Command } from 'commander';

export function gapsCommand(program: Command): void {
  program
    .command('gaps')
    .option(
      '--json',
      'one JSON document: {sourceOutage, gaps: [{seriesId, series, start, end, reason, cause, message, retryAt}], quarantined: [{seriesId, rows, reason}]}',
    )
    .action(async (options: { json?: true }) => (await import('../actions/gaps.ts')).run(options));
}
