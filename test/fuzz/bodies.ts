/** Answers to mutate: from the simulator, and from recordings where they are available. */

import { type EpochMs, hourMs, intervalMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { startSimulator } from '../../simulator/start.ts';
import { clockAt } from '../parts/test-clock.ts';
import { hasRecordings, recording } from '../recordings.ts';

export interface SeriesBody {
  readonly series: SeriesKey;
  readonly text: string;
  readonly times: readonly EpochMs[];
}

/** Rows in each: enough to have neighbours, and few enough that mutations hit each field often. */
const rowsOfEach = 6;

const recorded: ReadonlyArray<[string, SeriesKey]> = [
  ['candles-binance-m1-bitcoin-tether-20211003-rows', market('m1')],
  ['candles-binance-h8-polkadot-tether-20210329-20211002-rows', market('h8')],
  ['history-bitcoin-h1-default-20230303T1419Z', { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' }],
];

function market(interval: 'm1' | 'h1' | 'h8'): SeriesKey {
  return { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval };
}

export async function seriesBodies(): Promise<SeriesBody[]> {
  const startMs = Date.UTC(2024, 4, 1);
  const simulator = await startSimulator({ perMinute: null, clock: clockAt(() => startMs + 1000 * hourMs) });
  try {
    const range = `interval=h1&start=${startMs}&end=${startMs + 20 * hourMs}`;
    const asked: ReadonlyArray<[string, SeriesKey]> = [
      [`/candles?exchange=binance&baseId=bitcoin&quoteId=tether&${range}`, market('h1')],
      [`/assets/bitcoin/history?${range}`, { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' }],
    ];
    const bodies = await Promise.all(
      asked.map(async ([path, series]) => bodyOf(series, await (await fetch(simulator.url + path)).text())),
    );
    if (hasRecordings) bodies.push(...recorded.map(([name, series]) => bodyOf(series, recording(name))));
    return bodies;
  } finally {
    await simulator.close();
  }
}

export async function ratesBodies(): Promise<string[]> {
  const simulator = await startSimulator({ perMinute: null });
  try {
    const bodies = [shortened(await (await fetch(`${simulator.url}/rates`)).text())];
    if (hasRecordings) bodies.push(shortened(recording('rates-full-20211031')));
    return bodies;
  } finally {
    await simulator.close();
  }
}

function bodyOf(series: SeriesKey, text: string): SeriesBody {
  const short = shortened(text);
  const { data }: { data: { time?: number; period?: number }[] } = JSON.parse(short);
  const times = data.map((row) => row.period ?? row.time ?? Number.NaN);
  if (times.length === 0 || times.some((time) => time % intervalMs[series.interval] !== 0))
    throw new Error('not the rows of a series');
  return { series, text: short, times };
}

/** The first rows verbatim: their decimals are texts. */
function shortened(text: string): string {
  const { data, timestamp = Date.UTC(2026, 0, 1) }: { data: object[]; timestamp?: number } = JSON.parse(text);
  return JSON.stringify({ data: data.slice(0, rowsOfEach), timestamp });
}
