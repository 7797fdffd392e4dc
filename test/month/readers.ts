/** Who uses the service throughout the month: a program that asks for prices, and an open dashboard. */

import { setTimeout as delay } from 'node:timers/promises';

export interface Readers {
  /** Answers so far, by status; `none`: the connection failed. */
  readonly answers: Readonly<Record<string, number>>;
  /** Events that the dashboard was sent. */
  readonly events: number;
  stop(): Promise<void>;
}

const paths = [
  '/v2/assets?limit=20',
  '/v2/rates',
  '/v2/candles?exchange=binance&interval=m1&baseId=bitcoin&quoteId=tether',
  '/v2/candles?exchange=kraken&interval=h1&baseId=bitcoin&quoteId=euro',
  '/v2/assets/bitcoin/history?interval=h1',
  '/dashboard/problems',
  '/dashboard/backfills',
  '/readyz',
];

export function startReaders(url: string): Readers {
  const answers: Record<string, number> = {};
  const stopping = new AbortController();
  const { signal } = stopping;
  const readers = { answers, events: 0, stop };
  const rest = (ms: number) => delay(ms, undefined, { signal }).catch(() => {});

  async function ask(): Promise<void> {
    for (let place = 0; !signal.aborted; place += 1) {
      const status = await fetch(`${url}${paths[place % paths.length]}`, { signal })
        .then(async (answer) => {
          await answer.arrayBuffer();
          return String(answer.status);
        })
        .catch(() => 'none');
      if (!signal.aborted) answers[status] = (answers[status] ?? 0) + 1;
      await rest(250);
    }
  }
  async function follow(): Promise<void> {
    while (!signal.aborted) {
      await fetch(`${url}/dashboard/events`, { signal })
        .then(async (answer) => {
          for await (const _piece of answer.body ?? []) readers.events += 1;
        })
        .catch(() => {});
      await rest(1000);
    }
  }
  const ended = Promise.all([ask(), follow()]);
  async function stop(): Promise<void> {
    stopping.abort();
    await ended;
  }
  return readers;
}
