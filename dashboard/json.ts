/** JSON answers of the dashboard, and their parameters. */

import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { EpochMs, Range } from '../model/intervals.ts';
import { ServiceRefusal } from '../service/response.ts';
import type { Answers } from './shapes.ts';

/** A whole number as text. */
export const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().min(least).max(most));

export const idText = whole(1, 2_147_483_647);
/** Milliseconds since 1970. */
export const timeText = whole(0, Date.UTC(9999, 0, 1));

const rangeQuery = z.object({ from: timeText, to: timeText });

/** The range of the parameters `from` and `to`. @throws ServiceRefusal 400 */
export function rangeIn(query: unknown): Range {
  const { from, to } = read(rangeQuery, query);
  return ranged(from, to);
}

/** @throws ServiceRefusal 400 */
export function ranged(startMs: EpochMs, endMs: EpochMs): Range {
  if (startMs < endMs) return { startMs, endMs };
  throw new ServiceRefusal(400, 'the range ends before it begins');
}

/** @param value as the schema of its path says. */
export function json<Path extends keyof Answers>(reply: FastifyReply, value: Answers[Path]): FastifyReply {
  return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send(JSON.stringify(value));
}

/** @throws ServiceRefusal 400 */
export function read<Schema extends z.ZodType>(schema: Schema, query: unknown): z.output<Schema> {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  throw new ServiceRefusal(400, `bad ${parsed.error.issues[0]?.path.join('.')}`);
}
