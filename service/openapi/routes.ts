/** The description of the interface: `/v2/openapi.json` for programs and `/docs` for people. */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { endpoints } from '../../contract/endpoints.ts';
import { type Endpoint, routes } from '../../contract/paths.ts';
import { basePath } from '../request.ts';
import { escaped, type Page, sendPage } from '../web-security.ts';
import { openApiPath, openApiText } from './document.ts';
import { examples } from './examples.ts';

/** An hour: the description changes only with the software. */
const cacheControl = 'public, max-age=3600';

/** @param version software version. */
export function addDescription(app: FastifyInstance, version: string): void {
  const text = openApiText(version);
  const page = descriptionPage();
  app.get(`${basePath}/openapi.json`, async (_request, reply) =>
    reply.header('cache-control', cacheControl).type('application/json; charset=utf-8').send(text),
  );
  app.get('/docs', async (_request, reply) =>
    sendPage(reply.header('cache-control', cacheControl), 200, page),
  );
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f6f8fa;padding:.6rem;max-height:14rem;overflow:auto;white-space:pre-wrap;word-break:break-all}
table{border-collapse:collapse}td,th{text-align:left;padding:.15rem .9rem .15rem 0;vertical-align:top}h2{border-top:1px solid #d0d7de;padding-top:1rem}`;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly maximum?: number;
}

function descriptionPage(): Page {
  const sections = (Object.keys(endpoints) as Endpoint[]).map(section).join('\n');
  const content = `<p>Read-only market data as JSON. The same for programs: <a href="v2/openapi.json">openapi.json</a>. Requests work without a
key; one raises the limits: <a href="keys">ask for a key</a>, and send it as <code>Authorization: Bearer KEY</code>.</p>
<p>Decimals come with all their digits: read them as text, or with a parser that keeps them. Times are UNIX milliseconds.</p>
${sections}`;
  return { title: 'Market Data Service', style, content };
}

function section(endpoint: Endpoint): string {
  const { summary, query, resource } = endpoints[endpoint];
  const { path, answer } = examples[endpoint];
  const [main = '', ...aliases] = routes
    .filter((route) => route.endpoint === endpoint)
    .map((route) => `<code>GET /v2${escaped(openApiPath(route.path))}</code>`);
  return `<h2>${main}</h2>
<p>${escaped(summary)}.${aliases.map((alias) => ` The same: ${alias}.`).join('')}</p>
${table('Parameter', z.toJSONSchema(query, { io: 'input' }) as Schema)}
${table('Field', z.toJSONSchema(resource, { io: 'input' }) as Schema)}
<p><code>GET /v2${escaped(path)}</code></p>
<pre>${escaped(answer)}</pre>`;
}

function table(title: string, { properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const needed = title === 'Parameter' && required.includes(name) && schema.default === undefined;
    return `<tr><td><code>${escaped(name)}</code></td><td>${typeOf(schema)}${needed ? ', required' : ''}</td><td>${escaped(meaning(schema))}</td></tr>`;
  });
  if (rows.length === 0) return '';
  return `<table><tr><th>${title}</th><th>Type</th><th>Meaning</th></tr>${rows.join('')}</table>`;
}

function typeOf({ type, anyOf }: Schema): string {
  if (typeof type === 'string') return type;
  return (type ?? (anyOf ?? []).map(typeOf)).join(' or ');
}

function meaning({ description, anyOf, default: usual, maximum, enum: values }: Schema): string {
  const said = [
    description ?? anyOf?.map((one) => one.description).find((text) => text !== undefined),
    values === undefined ? undefined : `One of ${values.join(', ')}.`,
    usual === undefined ? undefined : `Default ${usual}.`,
    maximum === undefined || maximum > 1e9 ? undefined : `At most ${maximum}.`,
  ];
  return said.filter((text) => text !== undefined).join(' ');
}
