import { type Command, Option } from 'commander';
import { candleFormatNames } from '../../files/candle-formats.ts';
import { fileFormats } from '../../files/layout.ts';
import { candleIntervals } from '../../model/datasets/candles.ts';
import type { Options } from '../actions/import.ts';

export function importCommand(command: Command): void {
  command
    .argument('<file...>', 'files of `export`, each with its sidecar FILE.meta.json, or candle files of others')
    .addOption(
      new Option(
        '--format <format>',
        'default: the format in the sidecar; binance, kraken, cryptodatadownload and ccxt-json are candle files ' +
          'of others, which have no sidecar',
      ).choices([...fileFormats, ...candleFormatNames]),
    )
    .option(
      '--columns <list>',
      'candles of a CSV file of any program: time=timestamp,open=open,high=high,low=low,close=close,volume=volume, ' +
        'and turnover=... where it has the volume in the quote asset too, each with the name of its column, ' +
        'or all with its number from 1 on',
    )
    .option('--exchange <id>', 'exchange of such candle files, such as binance')
    .option('--base <id>', 'asset that is bought, such as bitcoin')
    .option('--quote <id>', 'asset it is paid with, such as tether')
    .option('--interval <interval>', `one of ${candleIntervals.join(', ')}`)
    .addOption(new Option('--sidecar <file>', 'sidecar of a single file').conflicts('pointsOnly'))
    .option('--points-only', 'store points without coverage: for a file that was changed, or has no sidecar')
    .option('--overwrite', 'replace stored values by those of the files, and keep the old values as revisions')
    .option('--follow', 'track open-ended what was tracked open-ended at the export')
    .option('--dry-run', 'read the files, say what is in them, and store nothing')
    .option('--json', 'print the outcome as JSON')
    .action(async (paths: string[], options: Options) => (await import('../actions/import.ts')).run(paths, options));
}
