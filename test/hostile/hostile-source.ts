/**
 * A source whose answers are wrong in one way at each path: `/<misbehaviour>/v2/candles`. A test compares with the
 * correct answers.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { systemClock } from '../../clock.ts';
import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { CandleSeries } from '../../model/series.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import type { Candle } from '../../v2/resources.ts';
import { bitcoinHours } from '../queue/queue-parts.ts';
import { portOf } from '../sources/local-server.ts';
import { type Answer, misbehaviours } from './misbehaviours.ts';

export const market: CandleSeries = { ...bitcoinHours, interval: 'm1' };

export interface HostileSource {
  url(name: string): string;
  /** From now on the source answers correctly at this URL. */
  calm(name: string): void;
  close(): Promise<void>;
}

const { truth } = createSimulator({ seed: 'hostile', clock: systemClock });

export function truthOf(range: Range): readonly Candle[] {
  return truth.candles(market, range);
}

interface SourceState {
  count: number;
  /** Periods in an empty answer. */
  readonly emptied: Set<EpochMs>;
}

function periodsOf({ startMs, endMs }: Range): EpochMs[] {
  return Array.from({ length: Math.ceil((endMs - startMs) / minuteMs) }, (_, place) => startMs + place * minuteMs);
}

export async function startHostileSource(): Promise<HostileSource> {
  const calmed = new Set<string>();
  const states = new Map<string, SourceState>();

  function listener(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '', 'http://source');
    const [, encoded = '', , resource = ''] = url.pathname.split('/');
    const name = decodeURIComponent(encoded);
    if (resource !== 'candles') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}');
      return;
    }
    const range = { startMs: Number(url.searchParams.get('start')), endMs: Number(url.searchParams.get('end')) };
    const state = states.get(name) ?? { count: 0, emptied: new Set() };
    states.set(name, state);
    state.count += 1;
    const answer: Answer = {
      rows: truthOf(range),
      range,
      count: state.count,
      isNeverEmptied: periodsOf(range).every((timeMs) => !state.emptied.has(timeMs)),
      send: (rows, timestampMs = Date.now()) => {
        if (rows.length === 0) for (const timeMs of periodsOf(range)) state.emptied.add(timeMs);
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ data: rows, timestamp: timestampMs }));
      },
    };
    const misbehave = misbehaviours[name]?.answer;
    if (misbehave === undefined || calmed.has(name)) answer.send(answer.rows);
    else misbehave(answer);
  }

  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${portOf(server.address())}`;
  return {
    url: (name) => `${origin}/${encodeURIComponent(name)}/v2`,
    calm: (name) => void calmed.add(name),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
