/**
 * `npm run bench -- [write] [budget] [planning] [storage] [queries] [service] [dashboard] [start] [growth] [scale]
 * [sources] [files] [lake] [--quick]`: prints the results on standard output and the progress on standard error, and
 * writes `bench-result.json`. docs/performance.md explains each number.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { BenchOptions, BenchResult } from './bench.ts';
import { benchBudget } from './budget/bench.ts';
import { benchDashboard } from './dashboard/bench.ts';
import { benchFiles } from './files/bench.ts';
import { benchGrowth } from './growth/bench.ts';
import { benchLake } from './lake/bench.ts';
import { describeMachine } from './machine.ts';
import { obtainParts } from './parts.ts';
import { benchPlanning } from './planning/bench.ts';
import { benchQueries } from './queries/bench.ts';
import { benchScale } from './scale/bench.ts';
import { benchService } from './service/bench.ts';
import { benchSources } from './sources/bench.ts';
import { benchStart } from './start/bench.ts';
import { benchStorage } from './storage/bench.ts';
import { benchWrite } from './write/bench.ts';

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<BenchResult>>> = {
  write: benchWrite,
  budget: benchBudget,
  planning: benchPlanning,
  storage: benchStorage,
  queries: benchQueries,
  service: benchService,
  dashboard: benchDashboard,
  start: benchStart,
  growth: benchGrowth,
  scale: benchScale,
  sources: benchSources,
  files: benchFiles,
  lake: benchLake,
};
const resultFile = 'bench-result.json';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
});
const unknown = positionals.find((name) => benches[name] === undefined);
if (unknown === undefined) await run();
else {
  console.error(`unknown benchmark ${unknown}; choose from: ${Object.keys(benches).join(', ')}`);
  process.exitCode = 2;
}

async function run(): Promise<void> {
  const names = positionals.length === 0 ? Object.keys(benches) : positionals;
  const startedAt = new Date().toISOString();
  const machine = describeMachine();
  const parts = await obtainParts();
  try {
    console.log(
      [
        `Measured ${startedAt}${values.quick ? ', QUICK: to test the benchmark, not to be quoted' : ''}`,
        `Machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system}, Node.js ` +
          `${machine.node}`,
        ...parts.report,
      ].join('\n'),
    );
    const results: Record<string, object> = {};
    for (const name of names) {
      const bench = benches[name];
      if (bench === undefined) continue;
      const say = (line: string) => console.error(line);
      const { text, result } = await bench({ parts, isQuick: values.quick, say });
      results[name] = result;
      console.log(`\n${text}`);
    }
    const summary = { startedAt, quick: values.quick, machine, parts: parts.report, ...results };
    writeFileSync(resultFile, `${JSON.stringify(summary, null, 2)}\n`);
  } finally {
    await parts.stop();
  }
}
