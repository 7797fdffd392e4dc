/** (a) The write path end to end, as a ratio to one connection's COPY of the same rows into the same table. */

import { table } from '../../scripts/output/table.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { environmentOf, queueKinds, withDatabase } from '../parts.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';
import { runCopy } from './copy.ts';
import { startLocalSource } from './local-source.ts';
import { openPipeline, type Pipeline } from './pipeline.ts';
import { runScript } from './script.ts';
import { checkTable, connect, emptyTable, expectedRows, track } from './table.ts';

const full = { days: 90, rounds: 5 };
const quick = { days: 25, rounds: 1 };

interface Contestant {
  readonly name: string;
  /** @returns the duration in milliseconds, if the contestant measures it itself. */
  run(): Promise<number | undefined>;
}

export async function benchWrite({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const { days, rounds } = isQuick ? quick : full;
  return withDatabase(parts, async (url) => {
    const seriesIds = await track(url, days);
    const expected = expectedRows(days, seriesIds);
    const source = await startLocalSource(days);
    const client = await connect(url);
    const pipelines: Pipeline[] = [];
    try {
      const contestants: Contestant[] = [
        { name: 'COPY, one connection', run: async () => void (await runCopy(client, expected)) },
      ];
      for (const kind of queueKinds(parts)) {
        const pipeline = await openPipeline({ ...environmentOf(parts, kind, url), SOURCE_URL: source.url });
        pipelines.push(pipeline);
        contestants.push({
          name: `tidemark, queue on ${kind === 'redis' ? 'Redis' : 'PostgreSQL'}`,
          run: () => pipeline.fill(expected.rows),
        });
      }
      contestants.push({
        name: 'plain script',
        run: async () => void (await runScript(client, source.url, days, seriesIds)),
      });
      const rates = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
      // The first round warms the caches and the compiler, and does not count.
      for (let round = isQuick ? 1 : 0; round <= rounds; round += 1) {
        for (const { name, run } of contestants) {
          await emptyTable(client);
          const started = performance.now();
          const measured = await run();
          const seconds = (measured ?? performance.now() - started) / 1000;
          await checkTable(client, expected, name);
          if (round > 0) rates.get(name)?.push(expected.rows / seconds);
          say(`write, round ${round}: ${name}: ${figure(expected.rows / seconds)} rows/s`);
        }
      }
      const [copy = []] = rates.values();
      const lines = [...rates].map(([name, values]) => ({
        name,
        rowsPerSecond: spreadOf(values),
        toCopy: spreadOf(values.map((value, round) => value / (copy[round] ?? value))),
      }));
      const setting = {
        rows: expected.rows,
        windows: source.answers,
        bytesPerAnswer: Math.round(source.bytes / source.answers),
        rounds,
      };
      return { text: textOf(setting, lines), result: { ...setting, lines, rates: Object.fromEntries(rates) } };
    } finally {
      for (const pipeline of pipelines) await pipeline.close();
      await client.end();
      await source.stop();
    }
  });
}

function textOf(
  setting: { rows: number; windows: number; bytesPerAnswer: number; rounds: number },
  lines: ReadonlyArray<{ name: string; rowsPerSecond: Spread; toCopy: Spread }>,
): string {
  return [
    `(a) write: ${figure(setting.rows)} rows a round in ${setting.windows} answers of ` +
      `${figure(setting.bytesPerAnswer)} bytes, ` +
      `${setting.rounds} round${setting.rounds === 1 ? '' : 's'}, median (least to most)`,
    table(
      [
        { title: '', value: (line) => line.name },
        { title: 'rows/s', value: (line) => told(line.rowsPerSecond), right: true },
        { title: 'to COPY', value: (line) => told(line.toCopy, 2), right: true },
      ],
      lines,
    ),
    'Every stored row was read back after each run and equals the source to the digit.',
  ].join('\n');
}
