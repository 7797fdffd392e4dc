/** Asks the server for JSON. */

import type { Band, Points, Problems, SeriesDetail } from '../shapes.ts';

export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function ask<Answer>(path: string): Promise<Answer> {
  const answer = await fetch(`dashboard/${path}`).catch(() => {
    throw new Refused(0, 'the server cannot be reached');
  });
  if (answer.ok) return (await answer.json()) as Answer;
  const said = (await answer.json().catch(() => null)) as { error?: string } | null;
  throw new Refused(answer.status, said?.error ?? `the server answered ${answer.status}`);
}

export const askDetail = (id: number) => ask<SeriesDetail>(`series/${id}`);
export const askProblems = () => ask<Problems>('problems');

/** @param fromMs as `toMs`, with a fraction or without: what is asked for is in whole milliseconds. */
export const askPoints = (id: number, interval: string, fromMs: number, toMs: number) =>
  ask<Points>(
    `series/${id}/points?interval=${interval}&from=${Math.max(0, Math.floor(fromMs))}&to=${Math.ceil(toMs)}`,
  );

export function askBands(
  ids: readonly number[],
  columns: number,
  range: { startMs: number; endMs: number } | null,
): Promise<Band[]> {
  const within = range === null ? '' : `&from=${Math.floor(range.startMs)}&to=${Math.ceil(range.endMs)}`;
  return ask(`bands?ids=${ids.join(',')}&columns=${columns}${within}`);
}
