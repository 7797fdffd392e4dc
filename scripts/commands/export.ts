import { type Command, Option } from 'commander';
import { fileFormats } from '../../files/layout.ts';
import { datasetNames, datasets } from '../../model/datasets/index.ts';
import type { ExportOptions } from '../actions/export.ts';
import { type SeriesNames, storedOptions, storedSelection, times } from '../input/selectors.ts';

export function exportCommand(parent: Command): void {
  parent.helpCommand(false);
  for (const name of datasetNames) {
    const { word, about } = datasets[name];
    addOptions(storedOptions(parent.command(word).description(about), name), true).action(
      async (options: SeriesNames & ExportOptions & { allowGaps?: true }, command: Command) => {
        const selection = storedSelection(name, options, command);
        await (await import('../actions/export.ts')).exportSeries(selection, options);
      },
    );
  }
  addOptions(parent.command('rates').description('polled rates'), false)
    .option('--currency <list>', 'one or more currencies, such as euro, with commas (default: all)')
    .action(async (options: ExportOptions & { currency?: string }) =>
      (await import('../actions/export.ts')).exportRates(options),
    );
}

function addOptions(command: Command, hasCoverage: boolean): Command {
  command
    .option(
      '--from <time>',
      `start: ${times} (default: the beginning of what is ${hasCoverage ? 'tracked' : 'stored'})`,
    )
    .option(
      '--to <time>',
      'end (excluded), as --from (default: the end of ' +
        `it${hasCoverage ? '; of a series tracked open-ended, the end of what is covered' : ''})`,
    )
    .addOption(new Option('--format <format>', 'default: by the ending of FILE, else csv').choices(fileFormats))
    .option('--out <file>', 'file to write, - for standard output', '-')
    .option('--sidecar <file>', 'file for coverage and gaps (default: FILE.meta.json; none with --out -)')
    .option('--json', 'print the outcome as JSON; not with --out -');
  if (hasCoverage) command.option('--allow-gaps', 'export a range that has gaps');
  return command;
}
