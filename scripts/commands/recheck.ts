import { type Command, Option } from 'commander';
import { systemClock } from '../../clock.ts';
import type { RepairOptions } from '../actions/recheck.ts';
import { parseWhole } from '../input/parse-options.ts';
import { actedRange, actedRangeOptions, type RangeOptions, seriesArgument } from '../input/selectors.ts';

interface VerifyOptions extends Partial<RangeOptions> {
  readonly sample?: string;
  readonly all?: true;
  readonly json?: true;
  readonly against?: string;
}

const defaultSample = 30;

export function verifyCommand(command: Command): void {
  actedRangeOptions(seriesArgument(command, 'all tracked'))
    .addOption(
      new Option('--sample <count>', `number of windows, drawn at random (default: ${defaultSample})`).conflicts('all'),
    )
    .option('--all', 'every covered window')
    .option('--against <source>', 'compare with another source, to the tick of the coarser one')
    .option('--json', 'print the outcome as JSON, with every difference')
    .action(async (words: string[], { all, sample, json, against, ...range }: VerifyOptions) => {
      const count = all ? null : parseWhole(sample ?? String(defaultSample), '--sample', 1, 9_999_999);
      await (await import('../actions/recheck.ts')).runVerify(words, {
        within: actedRange(range, systemClock.now()),
        sample: count,
        isJson: json === true,
        against: against ?? null,
      });
    });
}

export function repairCommand(command: Command): void {
  actedRangeOptions(seriesArgument(command, 'all'))
    .option('--differences', 'differences that `verify` found (default)')
    .option('--remove-absent', 'remove points that the source still does not have: their values stay as revisions')
    .option('--empty-older-than <age>', 'ranges that were confirmed empty longer ago than this: 30d, 8w')
    .option('--json', 'print the outcome as JSON')
    .action(async (words: string[], options: RepairOptions) =>
      (await import('../actions/recheck.ts')).runRepair(words, options),
    );
}
