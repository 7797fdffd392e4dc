/**
 * The web form by which a key is asked for, outside of the interface: `/keys`. What it stores waits for the operator.
 */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { addressCaller } from '../admission/address.ts';
import { sendPage } from '../web-security.ts';
import { formPage, messagePage, style } from './page.ts';

/** One line of text: what could break a terminal or a mail header is refused. */
const line = (what: string, most: number) =>
  z
    .string(`${what} is missing`)
    .trim()
    .min(1, `${what} is missing`)
    .max(most, `${what} is longer than ${most} characters`)
    .regex(/^[^\p{C}]*$/u, `${what} holds a character that is not text`);

const request = z.object({
  name: line('the name', 100),
  address: line('the address', 200).pipe(z.email('the address is not an e-mail address')),
  purpose: z
    .string('the purpose is missing')
    .trim()
    .min(10, 'say in a sentence what the key is for')
    .max(1000, 'the purpose is longer than 1000 characters')
    .regex(/^(?:[^\p{C}]|[\r\n\t])*$/u, 'the purpose holds a character that is not text'),
});

export type AskedKey = z.output<typeof request>;

/** Stores a request for a key, unless too many came from `caller` lately, or too many wait. */
export type AskForKey = (asked: AskedKey, caller: string) => Promise<'stored' | 'throttled' | 'full'>;

export function addKeyForm(app: FastifyInstance, ask: AskForKey): void {
  app.register(async (form) => {
    form.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      (_request, body, done) => {
        done(null, Object.fromEntries(new URLSearchParams(String(body))));
      },
    );
    form.get('/keys', async (_request, reply) =>
      sendPage(reply.header('cache-control', 'no-store'), 200, formPage(null), style),
    );
    form.post('/keys', async (posted, reply) => {
      reply.header('cache-control', 'no-store');
      const say = (status: number, text: string) => sendPage(reply, status, messagePage(text), style);
      const parsed = request.safeParse(posted.body ?? {});
      if (!parsed.success) {
        const { name = '', address = '', purpose = '' } = texts(posted.body);
        const complaint = parsed.error.issues[0]?.message ?? 'something is missing';
        return sendPage(reply, 400, formPage(complaint, { name, address, purpose }), style);
      }
      switch (await ask(parsed.data, addressCaller(posted.ip))) {
        case 'stored':
          return say(202, 'Thank you. The operator has your request.');
        case 'throttled':
          reply.header('retry-after', 3600);
          return say(429, 'Several requests came from your address lately. Try again in an hour.');
        case 'full':
          reply.header('retry-after', 86_400);
          return say(503, 'Too many requests are waiting already. Try again another day.');
      }
    });
  });
}

function texts(body: unknown): Record<string, string | undefined> {
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => typeof value === 'string'));
}
