import { type Command, Option } from 'commander';
import { systemClock } from '../../clock.ts';
import { parseWhole } from '../input/parse-options.ts';
import { actedRange, actedRangeOptions, type RangeOptions } from '../input/selectors.ts';

interface VerifyOptions extends Partial<RangeOptions> {
  readonly sample?: string;
  readonly all?: true;
  readonly json?: true;
  readonly against?: string;
}

const defaultSample = 30;

export function verifyCommand(command: Command): void {
  command.argument(
    '[series...]',
    'ids or names of series, as `status` shows them, or a pattern such as "kraken *" (default: all tracked)',
  );
  actedRangeOptions(command)
    .addOption(
      new Option('--sample <count>', `number of windows, drawn at random (default: ${defaultSample})`).conflicts('all'),
    )
    .option('--all', 'every covered window')
    .option('--against <source>', 'compare with another source, to the tick of the coarser one')
    .option('--json', 'print the outcome as JSON, with every difference')
    .action(async (words: string[], { all, sample, json, against, ...range }: VerifyOptions) => {
      const count = all ? null : parseWhole(sample ?? String(defaultSample), '--sample', 1, 9_999_999);
      await (await import('../actions/verify.ts')).run(words, {
        within: actedRange(range, systemClock.now()),
        sample: count,
        isJson: json === true,
        against: against ?? null,
      });
    });
}
