/** Returns the error of a failed call. */

import type { RequestListener } from 'node:http';
import { expect } from 'vitest';
import type { Source } from '../../sources/source.ts';
import { SourceError } from '../../sources/source-error.ts';
import { clockAt } from '../parts/test-clock.ts';
import { serve, sourceAt } from './local-server.ts';

/** The clock of the calls of `failureAt`. */
export const nowMs = Date.UTC(2024, 0, 31, 12);

/** The error of `call`, by default a call for the rates. */
export async function failureOf(
  source: Source,
  call: (source: Source) => Promise<unknown> = (it) => it.list('rates'),
): Promise<SourceError> {
  const error = await call(source).then(
    () => 'an answer',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SourceError)) throw new Error(`expected a SourceError, got: ${error}`);
  expect(error.message).not.toMatch(/[\r\n]/);
  return error;
}

/** The error at a server that answers every request with `listener`. The call must make exactly one request. */
export async function failureAt(
  listener: RequestListener,
  options: Parameters<typeof sourceAt>[1] = {},
): Promise<SourceError> {
  const server = await serve(listener);
  const error = await failureOf(sourceAt(server.baseUrl, { clock: clockAt(() => nowMs), ...options }));
  expect(server.requests).toHaveLength(1);
  return error;
}

export function answering(status: number, body: string, headers: Record<string, string> = {}): RequestListener {
  return (_, response) => void response.writeHead(status, headers).end(body);
}
