import type { Command } from 'commander';

export function gapsCommand(command: Command): void {
  command
    .option(
      '--json',
      'one JSON document: {sourceOutage, sourceOutages, gaps: [{seriesId, series, start, end, reason, cause, ' +
        'message, retryAt}], quarantined: [{seriesId, rows, reason}]}',
    )
    .action(async (options: { json?: true }) => (await import('../actions/gaps.ts')).run(options));
}
