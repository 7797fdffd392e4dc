/** (f) The service: requests a second, beside pgbench with the very statement that the service answers them with. */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { table } from '../../scripts/table.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { withDatabase } from '../parts.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';
import type { Outcome } from './client-process.ts';
import { type Extent, load } from './load.ts';
import { findPgbench, pgbench } from './pgbench.ts';
import { type Question, questionsOn } from './questions.ts';
import { ask, type Serving, startServing } from './serving.ts';

const concurrencies = [1, 16, 64];
/** The default of SERVE_REMEMBER_MS. */
const rememberMs = 1000;
const full = {
  rounds: 3,
  seconds: 8,
  memorySeconds: 600,
  extent: { markets: 10, days: 60, assets: 2000, polls: 12 },
};
const quick = {
  rounds: 1,
  seconds: 2,
  memorySeconds: 20,
  extent: { markets: 2, days: 20, assets: 2000, polls: 3 },
};

interface Measured {
  readonly name: string;
  readonly connections: number;
  /** With a statement for each request. */
  readonly served: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  readonly alone: Spread;
  readonly ratio: Spread;
  /** As it comes: an answer is given again for a second. */
  readonly remembered: Spread;
  readonly rememberedRatio: Spread;
}

interface Memory {
  readonly seconds: number;
  /** MB, after a tenth of the time, at its end, and the most in between. */
  readonly early: number;
  readonly late: number;
  readonly most: number;
}

export async function benchService({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const program = findPgbench();
  if (program === null) return { text: '(f) service: not measured, as there is no pgbench', result: {} };
  const settings = isQuick ? quick : full;
  return withDatabase(parts, async (url) => {
    const questions = await prepare(url, settings.extent);
    const serving = await startServing(url, 0);
    const remembering = await startServing(url, rememberMs);
    try {
      const measured: Measured[] = [];
      for (const question of questions) {
        for (const connections of concurrencies) {
          const at = { connections, seconds: settings.seconds };
          measured.push(
            await measure({ program, url, serving, remembering, question, rounds: settings.rounds, at }),
          );
          const last = measured.at(-1);
          if (last !== undefined)
            say(
              `service: ${question.name}, ${connections} connections: ${told(last.ratio, 2)} of pgbench, remembered ${told(last.rememberedRatio, 2)}`,
            );
        }
      }
      const memory = await watchMemory(remembering, questions, settings.memorySeconds);
      return { text: textOf(settings, measured, memory), result: { settings, measured, memory } };
    } finally {
      await serving.stop();
      await remembering.stop();
    }
  });
}

async function prepare(url: string, extent: Extent): Promise<Question[]> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  await client.connect();
  try {
    return await questionsOn(url, await load(client, url, extent));
  } finally {
    await client.end();
  }
}

async function measure(of: {
  program: string;
  url: string;
  serving: Serving;
  remembering: Serving;
  question: Question;
  rounds: number;
  at: { connections: number; seconds: number };
}): Promise<Measured> {
  const { program, url, serving, remembering, question, rounds, at } = of;
  const served: Outcome[] = [];
  const remembered: number[] = [];
  const alone: number[] = [];
  const asked = { ...at, url: serving.url, paths: [question.path] };
  await ask({ ...asked, seconds: 1 });
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await pgbench(program, url, question, at));
    served.push(await ask(asked));
    remembered.push((await ask({ ...asked, url: remembering.url })).perSecond);
  }
  return {
    name: question.name,
    connections: at.connections,
    served: spreadOf(served.map(({ perSecond }) => perSecond)),
    p50Ms: spreadOf(served.map(({ p50Ms }) => p50Ms)),
    p99Ms: spreadOf(served.map(({ p99Ms }) => p99Ms)),
    alone: spreadOf(alone),
    ratio: spreadOf(served.map(({ perSecond }, round) => perSecond / (alone[round] ?? perSecond))),
    remembered: spreadOf(remembered),
    rememberedRatio: spreadOf(remembered.map((perSecond, round) => perSecond / (alone[round] ?? perSecond))),
  };
}

/** Under all questions in turn on 16 connections. */
async function watchMemory(
  serving: Serving,
  questions: readonly Question[],
  seconds: number,
): Promise<Memory | null> {
  const paths = questions.map(({ path }) => path);
  const samples: number[] = [];
  const watching = new AbortController();
  const watch = (async () => {
    while (!watching.signal.aborted) {
      await delay(seconds * 10, undefined, { signal: watching.signal }).catch(() => {});
      const memory = serving.memoryMb();
      if (memory !== null) samples.push(memory);
    }
  })();
  await ask({ url: serving.url, paths, connections: 16, seconds });
  watching.abort();
  await watch;
  const [early, late] = [samples[Math.floor(samples.length / 10)], samples.at(-1)];
  return early === undefined || late === undefined
    ? null
    : { seconds, early, late, most: Math.max(...samples) };
}

function textOf(
  { rounds, seconds, extent }: typeof full,
  measured: readonly Measured[],
  memory: Memory | null,
): string {
  return [
    `(f) service: one process of tidemark serve beside pgbench (prepared, the same statement), in turns, once with a statement for each request and once as it comes, with answers given again for a second; ${rounds} rounds of ${seconds} s each; ` +
      `m1 of ${extent.markets} markets over ${extent.days} days, ${figure(extent.assets)} assets; median (least to most)`,
    table(
      [
        { title: '', value: (line) => line.name },
        { title: 'connections', value: (line) => String(line.connections), right: true },
        { title: 'requests/s', value: (line) => told(line.served), right: true },
        { title: 'p50 ms', value: (line) => told(line.p50Ms, 2), right: true },
        { title: 'p99 ms', value: (line) => told(line.p99Ms, 2), right: true },
        { title: 'pgbench/s', value: (line) => told(line.alone), right: true },
        { title: 'ratio', value: (line) => told(line.ratio, 2), right: true },
        { title: 'remembered/s', value: (line) => told(line.remembered), right: true },
        { title: 'ratio', value: (line) => told(line.rememberedRatio, 2), right: true },
      ],
      measured,
    ),
    memory === null
      ? 'Memory of the process: not known on this system.'
      : `Memory of the process under all of them in turn, 16 connections, ${memory.seconds} s: ${figure(memory.early)} MB after a tenth of the time, ` +
        `${figure(memory.late)} MB at the end, ${figure(memory.most)} MB at most.`,
  ].join('\n');
}
