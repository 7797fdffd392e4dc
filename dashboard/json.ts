/** JSON answers of the dashboard, and their parameters. */

import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { ServiceRefusal } from '../service/response.ts';
import type { Answers } from './shapes.ts';

/** A whole number as text. */
export const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().min(least).max(most));

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
