/** The description for programs, `/v2/openapi.json`, and for people, `/docs`. */

import type { FastifyInstance } from 'fastify';
import { basePath } from '../target.ts';
import { sendPage } from '../web-security.ts';
import { openApiText } from './document.ts';
import { descriptionPage, style } from './page.ts';

/** An hour: they change only with the software. */
const cacheControl = 'public, max-age=3600';

/** @param version of the software. */
export function addDescription(app: FastifyInstance, version: string): void {
  const text = openApiText(version);
  const page = descriptionPage();
  app.get(`${basePath}/openapi.json`, async (_request, reply) =>
    reply.header('cache-control', cacheControl).type('application/json; charset=utf-8').send(text),
  );
  app.get('/docs', async (_request, reply) =>
    sendPage(reply.header('cache-control', cacheControl), 200, page, style),
  );
}
