/** (f) The service: requests a second, compared with pgbench on the same statement. */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { table } from '../../scripts/output/table.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { findInstalled } from '../installed.ts';
import { withDatabase } from '../parts.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';
import type { Outcome } from './client-process.ts';
import { type Extent, load } from './load.ts';
import { pgbench } from './pgbench.ts';
import { type Question, questionsOn } from './questions.ts';
import { ask, type Serving, startBareHttp, startServing } from './serving.ts';

const concurrencies = [1, 16, 64];
const full = { rounds: 3, seconds: 8, memorySeconds: 600, extent: { markets: 10, days: 60, assets: 2000, polls: 12 } };
const quick = { rounds: 1, seconds: 2, memorySeconds: 20, extent: { markets: 2, days: 20, assets: 2000, polls: 3 } };

interface Served {
  readonly perSecond: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  /** Relative to pgbench's rate in the same round. */
  readonly ratio: Spread;
  /** Relative to `bound` in the same round. */
  readonly toBound: Spread;
}

interface Measured {
  readonly name: string;
  readonly connections: number;
  /** pgbench's transactions a second. */
  readonly alone: Spread;
  /** Answers of the same length a second without a statement, from Node's `http` alone. */
  readonly http: Spread;
  /** What both one after the other would reach at their rates, relative to pgbench's. */
  readonly bound: Spread;
  readonly asItComes: Served;
  /** With a statement for each request. */
  readonly unremembered: Served;
}

interface Memory {
  readonly seconds: number;
  /** MB: the median of each tenth of the time, and the maximum. */
  readonly tenths: readonly number[];
  readonly most: number;
}

export async function benchService({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const program = findInstalled('pgbench');
  if (program === null) return { text: '(f) service: not measured, as there is no pgbench', result: {} };
  const settings = isQuick ? quick : full;
  return withDatabase(parts, async (url) => {
    const questions = await prepare(url, settings.extent);
    const serving = await startServing(url, false);
    const remembering = await startServing(url, true);
    try {
      const measured: Measured[] = [];
      for (const question of questions) {
        for (const connections of concurrencies) {
          const at = { connections, seconds: settings.seconds };
          measured.push(await measure({ program, url, serving, remembering, question, rounds: settings.rounds, at }));
          const last = measured.at(-1);
          if (last !== undefined)
            say(
              `service: ${question.name}, ${connections} connections: ${told(last.asItComes.ratio, 2)} of pgbench, ` +
                `with a statement for each request ${told(last.unremembered.ratio, 2)}`,
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
  const alone: number[] = [];
  const http: number[] = [];
  const asItComes: Outcome[] = [];
  const unremembered: Outcome[] = [];
  const asked = { ...at, paths: [question.path] };
  const answer = await fetch(`${serving.url}${question.path}`);
  const bareHttp = await startBareHttp((await answer.arrayBuffer()).byteLength);
  try {
    await ask({ ...asked, url: serving.url, seconds: 1 });
    await ask({ ...asked, url: bareHttp.url, seconds: 1 });
    for (let round = 0; round < rounds; round += 1) {
      alone.push(await pgbench(program, url, question, at));
      http.push((await ask({ ...asked, url: bareHttp.url })).perSecond);
      unremembered.push(await ask({ ...asked, url: serving.url }));
      asItComes.push(await ask({ ...asked, url: remembering.url }));
    }
  } finally {
    await bareHttp.stop();
  }
  // In turn, each at its own rate.
  const bound = alone.map((statements, round) => 1 / (1 / statements + 1 / (http[round] ?? statements)));
  const ratios = (outcomes: readonly Outcome[], to: readonly number[]) =>
    spreadOf(outcomes.map(({ perSecond }, round) => perSecond / (to[round] ?? perSecond)));
  const servedOf = (outcomes: readonly Outcome[]): Served => ({
    perSecond: spreadOf(outcomes.map(({ perSecond }) => perSecond)),
    p50Ms: spreadOf(outcomes.map(({ p50Ms }) => p50Ms)),
    p99Ms: spreadOf(outcomes.map(({ p99Ms }) => p99Ms)),
    ratio: ratios(outcomes, alone),
    toBound: ratios(outcomes, bound),
  });
  return {
    name: question.name,
    connections: at.connections,
    alone: spreadOf(alone),
    http: spreadOf(http),
    bound: spreadOf(bound.map((rate, round) => rate / (alone[round] ?? rate))),
    asItComes: servedOf(asItComes),
    unremembered: servedOf(unremembered),
  };
}

/** Under all questions in turn, on 16 connections. */
async function watchMemory(serving: Serving, questions: readonly Question[], seconds: number): Promise<Memory | null> {
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
  if (samples.length < 10) return null;
  const tenths = Array.from({ length: 10 }, (_, tenth) => {
    const of = (place: number) => Math.floor((samples.length * place) / 10);
    return spreadOf(samples.slice(of(tenth), of(tenth + 1))).median;
  });
  return { seconds, tenths, most: Math.max(...samples) };
}

function textOf(
  { rounds, seconds, extent }: typeof full,
  measured: readonly Measured[],
  memory: Memory | null,
): string {
  const lines = (['asItComes', 'unremembered'] as const).flatMap((way) =>
    measured.map((of) => ({ ...of, ...of[way], way })),
  );
  return [
    '(f) service: one process of tidemark serve beside pgbench (prepared, the same statement), in turns; ' +
      `${rounds} rounds of ${seconds} s each; m1 of ${extent.markets} markets over ${extent.days} days, ` +
      `${figure(extent.assets)} assets; median (least to most)`,
    table(
      [
        { title: '', value: ({ way }) => (way === 'asItComes' ? 'as it comes' : 'a statement each') },
        { title: '', value: ({ name }) => name },
        { title: 'connections', value: ({ connections }) => String(connections), right: true },
        { title: 'requests/s', value: ({ perSecond }) => told(perSecond), right: true },
        { title: 'p50 ms', value: ({ p50Ms }) => told(p50Ms, 2), right: true },
        { title: 'p99 ms', value: ({ p99Ms }) => told(p99Ms, 2), right: true },
        { title: 'pgbench/s', value: ({ alone }) => told(alone), right: true },
        { title: 'HTTP alone/s', value: ({ http }) => told(http), right: true },
        { title: 'ratio', value: ({ ratio }) => told(ratio, 2), right: true },
        { title: 'bound', value: ({ bound }) => told(bound, 2), right: true },
        { title: 'to bound', value: ({ toBound }) => told(toBound, 2), right: true },
      ],
      lines,
    ),
    memory === null
      ? 'Memory of the process: not known on this system.'
      : `Memory of the process as it comes, under all of them in turn, 16 connections, ${memory.seconds} s, MB, ` +
        'median of each tenth of the time: ' +
        `${memory.tenths.map((megabytes) => figure(megabytes)).join(', ')}; ${figure(memory.most)} at most.`,
  ].join('\n');
}
