/**
 * The description of the interface for people, at `/docs`: each endpoint with its parameters, fields, an example, and a
 * try.
 */

import { z } from 'zod';
import { arrowType } from '../accepted.ts';
import { escaped, type Page } from '../pages/pages.ts';
import type { Example } from './examples.ts';
import { type Described, described, openApiPath } from './paths.ts';

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

export function descriptionPage(): Page {
  const content = `<p>Read-only market data as JSON. Machine-readable: <a href="v2/openapi.json">openapi.json</a>.
      Requests work without a
key; one raises the limits: <a href="keys">ask for a key</a>, and send it as <code>Authorization: Bearer KEY</code>.</p>
<p>Decimals come with all their digits: read them as text, or with a parser that keeps them. Times are UNIX
  milliseconds. Candles, histories and points also come as Arrow, to a request with
  <code>Accept: ${arrowType}</code>.</p>
<nav aria-label="Endpoints"><ul class="contents">${described.map(entry).join('')}</ul></nav>
<p class="field"><label for="key">API key for the examples</label><input id="key" type="password" autocomplete="off"
  spellcheck="false" placeholder="none"></p>
${described.map(section).join('\n')}
<script type="module" src="pages/try.js"></script>`;
  return { title: 'Market Data Service', content };
}

function entry({ id, contract, paths: [main] }: Described): string {
  return (
    `<li><a href="#${id}"><code>${escaped(openApiPath(main?.path ?? ''))}</code></a> ` +
    `${escaped(contract.summary)}</li>`
  );
}

function section(endpoint: Described): string {
  const { id, contract, paths, example } = endpoint;
  const { summary, query, resource } = contract;
  const [main = '', ...aliases] = paths.map(({ path }) => `<code>GET /v2${escaped(openApiPath(path))}</code>`);
  return `<section class="endpoint" id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${main}</h2>
<p>${escaped(summary)}.${aliases.map((alias) => ` The same: ${alias}.`).join('')}</p>
${table('Parameter', z.toJSONSchema(query, { io: 'input' }) as Schema)}
${table('Field', z.toJSONSchema(resource, { io: 'input' }) as Schema)}
${example === null ? '' : exampleText(example)}
${tryForm(endpoint)}
</section>`;
}

function exampleText({ path, answer }: Example): string {
  return `<h3>Example</h3>
<p><code>GET /v2${escaped(path)}</code></p>
<pre tabindex="0" aria-label="Answer of the example">${escaped(answer)}</pre>`;
}

/** Without its script the form asks for the example with other parameters. */
function tryForm({ id, contract, paths: [main], example }: Described): string {
  const path = main?.path ?? '';
  const [examplePath = '', exampleQuery = ''] = (example?.path ?? path).split('?', 2);
  const shown = new URLSearchParams(exampleQuery);
  const { properties = {} } = z.toJSONSchema(contract.query, { io: 'input' }) as Schema;
  const values = examplePath.split('/');
  const inPath = path.split('/').flatMap((part, place) => {
    if (!part.startsWith(':')) return [];
    return [field(id, part.slice(1), decodeURIComponent(values[place] ?? ''), 'data-in="path" required')];
  });
  const inQuery = Object.keys(properties).map((name) => field(id, name, shown.get(name) ?? '', `name="${name}"`));
  return `<details><summary>Try it</summary>
<form class="stacked try" action="v2${escaped(examplePath)}" data-path="v2${escaped(openApiPath(path))}">
${[...inPath, ...inQuery].join('\n')}
<button>Send</button>
<p role="status"></p>
<pre tabindex="0" aria-label="Answer" hidden></pre>
</form></details>`;
}

function field(endpoint: string, name: string, value: string, attributes: string): string {
  const id = `${endpoint}-${name}`;
  return (
    `<label for="${id}">${escaped(name)}</label><input id="${id}" ${attributes} data-name="${escaped(name)}" ` +
    `value="${escaped(value)}" autocomplete="off" spellcheck="false">`
  );
}

function table(title: string, { properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const needed = title === 'Parameter' && required.includes(name) && schema.default === undefined;
    const type = `${typeOf(schema)}${needed ? ', required' : ''}`;
    return `<tr><td><code>${escaped(name)}</code></td><td>${type}</td><td>${escaped(meaning(schema))}</td></tr>`;
  });
  if (rows.length === 0) return '';
  return (
    `<div class="scrolled" tabindex="0" role="group" aria-label="${title}s"><table><thead><tr><th ` +
    `scope="col">${title}</th><th scope="col">Type</th><th ` +
    `scope="col">Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`
  );
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
