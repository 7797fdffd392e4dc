/** The web form for requesting a key, at `/keys`. A request waits for the operator's approval. */

import type { FastifyInstance } from 'fastify';
import type pg from 'pg';
import { z } from 'zod';
import { addressCaller } from './admission/address.ts';
import { requestKey } from './keys.ts';
import { escaped, type Page, type SendPage } from './pages/pages.ts';

/** Text without control characters, which could break a terminal or a mail header; by default one line. */
const textOf = (what: string, most: number, { least = 1, short = `${what} is missing`, form = /^[^\p{C}]*$/u } = {}) =>
  z
    .string(`${what} is missing`)
    .trim()
    .min(least, short)
    .max(most, `${what} is longer than ${most} characters`)
    .regex(form, `${what} holds a character that is not text`);

const request = z.object({
  name: textOf('the name', 100),
  address: textOf('the address', 200).pipe(z.email('the address is not an e-mail address')),
  purpose: textOf('the purpose', 1000, {
    ...{ least: 10, short: 'say in a sentence what the key is for', form: /^(?:[^\p{C}]|[\r\n\t])*$/u },
  }),
});

/** @param pool on which requests are stored. */
export function addKeyForm(app: FastifyInstance, sendPage: SendPage, pool: pg.Pool): void {
  app.register(async (form) => {
    form.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
      done(null, Object.fromEntries(new URLSearchParams(String(body))));
    });
    form.get('/keys', async (_request, reply) =>
      sendPage(reply.header('cache-control', 'no-store'), 200, formPage(null, {})),
    );
    form.post('/keys', async (posted, reply) => {
      reply.header('cache-control', 'no-store');
      const say = (status: number, text: string) => sendPage(reply, status, page(`<p>${escaped(text)}</p>`));
      const parsed = request.safeParse(posted.body ?? {});
      if (!parsed.success) {
        const complaint = parsed.error.issues[0]?.message ?? 'something is missing';
        return sendPage(reply, 400, formPage(complaint, texts(posted.body)));
      }
      switch (await requestKey(pool, parsed.data, addressCaller(posted.ip))) {
        case 'stored':
          return say(
            202,
            'The request is stored. The operator reviews it, and sends the key to your e-mail address after ' +
              'approving it. Nothing is sent automatically.',
          );
        case 'throttled':
          reply.header('retry-after', 3600);
          return say(429, 'Several requests came from your address recently. Try again in an hour.');
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

/** @param complaint the error in `entered`, which is shown again; null on the first visit. */
function formPage(complaint: string | null, entered: Readonly<Record<string, string | undefined>>): Page {
  const { name = '', address = '', purpose = '' } = entered;
  const alert = complaint === null ? '' : `<p class="bad" role="alert">${escaped(complaint)}</p>`;
  return page(`${alert}<p>Requests work without a key. One raises the limit of requests a minute, and opens all of the
history that is stored. The operator reviews each request, and sends the key to the address below after approving
  it.</p>
<form class="stacked" method="post" action="keys">
<label for="name">Your name</label><input id="name" name="name" required maxlength="100" autocomplete="name"
  value="${escaped(name)}">
<label for="address">E-mail address</label><input id="address" name="address" type="email" required maxlength="200"
  autocomplete="email" value="${escaped(address)}">
<label for="purpose">What the key is for</label><textarea id="purpose" name="purpose" required minlength="10"
  maxlength="1000" rows="4">${escaped(purpose)}</textarea>
<button>Ask for a key</button>
</form>`);
}

function page(content: string): Page {
  return { title: 'Ask for a key', content };
}
